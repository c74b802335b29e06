use punctual_core::{cpu_set::CpuSet, placement::Cpus, recording::*, scenario::*};
use punctual_hist::Nanos; use punctual_linux::measure::*; use std::sync::atomic::AtomicBool;
struct O(Option<Recording>);
impl Observer for O { fn frame(&mut self,f:Frame){ match (&mut self.0,f){(Some(r),f)=>{ if let Frame::Event(e)=&f {println!("{e:?}")} r.add(f)},(e,Frame::Header(h))=>*e=Some(Recording::new(*h)),_=>{}}} fn checkpoint(&mut self){} fn progress(&mut self,_p:&Progress){} fn write_error(&self)->Option<String>{None}}
fn main(){ let both=CpuSet::parse_list("0-1").unwrap(); let cpus=Cpus{online:both.clone(),allowed:both,..Default::default()};
 let list=std::env::args().nth(1).unwrap(); let secs:u64=std::env::args().nth(2).unwrap().parse().unwrap();
 let s=Scenario{threads:CpuSet::parse_list(&list).unwrap().iter().map(|cpu|ProbeThread{cpu,period:Nanos::from_ms(1)}).collect(),policy:Policy::Fifo(90),mechanism:Mechanism::Absolute,phase:TimerPhase::Auto,warm_up:Amount::Time(Nanos::from_ms(500)),length:Amount::Time(Nanos::from_secs(secs)),budget:Some(Nanos::from_us(50)),limit:None,dma_latency_us:std::env::args().nth(3).map(|x|x.parse().unwrap()),load_phases:vec![LoadPhase{loads:vec![],parts:1},LoadPhase{loads:vec![],parts:2}],load_cpus:None,suite:None}.checked(&cpus).unwrap();
 let set=Setting{cpus,machine:vec![],clock_source:None,findings:vec![],load_dir:"/tmp".into(),ordinary_if_refused:false,tool_version:"x".into()};
 let mut o=O(None); let r=measure(&s,&set,&AtomicBool::new(false),&mut o); println!("{r:?}"); let r=o.0.unwrap();
 for (c,t) in &r.cpus { println!("cpu{c} ran {} skipped {} min {:?} mean {:?} p50 {:?} p99 {:?} p99.9 {:?} max {:?} over {} gap {:?} {:?} blocks {} {:?}",t.ran.count(),t.skipped.count(),t.ran.min(),t.ran.mean(),t.ran.percentile_ppm(500000),t.ran.percentile_ppm(990000),t.ran.percentile_ppm(999000),t.ran.max(),t.over_budget,t.longest_gap,t.counters,t.blocks,t.worst_block);}
 println!("{:?} {:?} {:?}",r.warm_up,r.end,r.marks); println!("{:?}",r.header.clock); for w in r.worst.iter().take(3){println!("{w:?}")} println!("slices {}",r.slices.len());
}

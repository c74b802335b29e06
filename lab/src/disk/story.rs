//! for now
use super::bench;
use anyhow::Result;
/// try
pub fn run() -> Result<()> {
    let cache = bench::cache()?;
    super::recipe::install_on_host()?;
    let image = bench::image(&cache)?;
    let b = bench::Bench::new(&cache, &image, "try", None)?;
    let (mut m, s) = b.start()?;
    println!("{:?}\n{}", s.took, s.console);
    for c in std::env::args().skip(1) {
        println!("$ {c}\n{:?}", m.run(&c, std::time::Duration::from_secs(60))?);
    }
    let s = m.reboot()?;
    println!("{:?}\n{}", s.took, s.console);
    println!("{:?}", m.power_off()?);
    let t = std::time::Instant::now();
    println!("{} files {:?}", b.files()?.len(), t.elapsed());
    Ok(())
}

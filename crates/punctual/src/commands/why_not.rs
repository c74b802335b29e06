//! `punctual check --why-not`: what of this program works here, and what to install or to grant for the rest.

use crate::cli::Form;
use crate::exit::Exit;
use crate::render::{self, why_not};
use anyhow::Result;
use punctual_linux::abilities;

pub fn run(form: Form) -> Result<Exit> {
    let tried = abilities::tried();
    render::print(&if form.json {
        render::document(&why_not::WhyNot::new(&tried))?
    } else if form.brief {
        why_not::brief(&tried)
    } else {
        render::for_people(|| why_not::text(&tried, render::style()))
    })?;
    let lacks = tried.iter().any(|one| one.ability.is_essential() && one.obstacle.is_some());
    Ok(Exit::doubtful_if(lacks))
}

//! Entries of the catalogue as facts: value, grade, source.

mod devices;
mod entry;
mod links;
mod programs;
mod supply;
mod systems;

use weft_catalogue::Catalogue;

pub use entry::Entry;

/// All entries of that name; a name may be that of a GPU and of a system.
pub fn entries<'c>(name: &str, catalogue: &'c Catalogue) -> Vec<Entry<'c>> {
    let found = [
        catalogue.link(name).ok().map(links::link),
        catalogue.gpu(name).ok().map(devices::gpu),
        catalogue.nic(name).ok().map(devices::nic),
        catalogue.switch(name).ok().map(devices::switch),
        catalogue.cpu(name).ok().map(devices::cpu),
        catalogue.retimer(name).ok().map(links::retimer),
        catalogue.channel(name).ok().map(links::channel),
        catalogue.system(name).ok().map(|system| systems::system(system, catalogue)),
        catalogue.library(name).ok().map(systems::library),
        catalogue.engine(name).ok().map(programs::engine),
        catalogue.transceiver(name).ok().map(supply::transceiver),
        catalogue.cable(name).ok().map(supply::cable),
        catalogue.server(name).map(supply::server),
        catalogue.price(name).ok().map(supply::price),
        catalogue.failure(name).ok().map(supply::failure),
        catalogue.restart(name).ok().map(supply::restart),
        catalogue.sources.get_key_value(name).map(|(key, source)| systems::source(key, source)),
    ];
    found.into_iter().flatten().collect()
}

/// All names that [`entries`] knows.
pub fn names(catalogue: &Catalogue) -> impl Iterator<Item = &str> {
    let links = catalogue.links.iter().map(|entry| entry.name.as_str());
    let gpus = catalogue.gpus.iter().map(|entry| entry.name.as_str());
    let nics = catalogue.nics.iter().map(|entry| entry.name.as_str());
    let switches = catalogue.switches.iter().map(|entry| entry.name.as_str());
    let cpus = catalogue.cpus.iter().map(|entry| entry.name.as_str());
    let retimers = catalogue.retimers.iter().map(|entry| entry.name.as_str());
    let channels = catalogue.channels.iter().map(|entry| entry.name.as_str());
    let systems = catalogue.systems.iter().map(|entry| entry.name.as_str());
    let libraries = catalogue.libraries.iter().map(|entry| entry.name.as_str());
    let engines = catalogue.engines.iter().map(|entry| entry.name.as_str());
    let transceivers = catalogue.transceivers.iter().map(|entry| entry.name.as_str());
    let cables = catalogue.cables.iter().map(|entry| entry.name.as_str());
    let prices = catalogue.prices.iter().map(|entry| entry.name.as_str());
    let failures = catalogue.failures.iter().map(|entry| entry.name.as_str());
    let restarts = catalogue.restarts.iter().map(|entry| entry.name.as_str());
    links
        .chain(gpus)
        .chain(nics)
        .chain(switches)
        .chain(cpus)
        .chain(retimers)
        .chain(channels)
        .chain(systems)
        .chain(libraries)
        .chain(engines)
        .chain(transceivers)
        .chain(cables)
        .chain(prices)
        .chain(failures)
        .chain(restarts)
}

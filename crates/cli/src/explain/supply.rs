//! What is bought, what it costs and how often it fails.

use weft_catalogue::{Cable, Event, Failure, Price, PricedBy, Restart, Server, Transceiver};

use super::Entry;

pub fn transceiver(module: &Transceiver) -> Entry<'_> {
    let place = if module.in_switch { "module of switches" } else { "module of NICs" };
    Entry::new(&module.name, &module.title, place, &module.aliases)
        .note(module.note.as_ref())
        .plain("runs", module.links.join(", "))
        .fact("links that end in it", &module.ports)
        .fact("longest fibre", &module.longest)
        .fact("power", &module.power)
}

pub fn cable(cable: &Cable) -> Entry<'_> {
    Entry::new(&cable.name, &cable.title, cable.kind.word(), &cable.aliases)
        .note(cable.note.as_ref())
        .plain("carries", cable.links.join(", "))
        .fact("longest", &cable.longest)
        .fact("power of one end", &cable.end_power)
}

pub fn server(server: &Server) -> Entry<'_> {
    Entry::new(&server.name, &server.title, "what stands around its GPUs", &server.aliases)
        .note(server.note.as_ref())
        .fact_if("power of a host, at most", server.most_power.as_ref())
        .fact_if("power of a host while training", server.training_power.as_ref())
        .fact_if("memory of a host", server.memory.as_ref())
        .fact_if("local storage of a host", server.storage.as_ref())
}

pub fn price(price: &Price) -> Entry<'_> {
    let what = match price.per {
        PricedBy::Piece => "price",
        PricedBy::KilowattHour => "price of a kilowatt-hour",
    };
    Entry::new(&price.name, &price.title, format!("price as of {}", price.date), &price.aliases)
        .note(price.note.as_ref())
        .fact(what, &price.amount)
        .fact_if("the least seen", price.low.as_ref())
        .fact_if("the most seen", price.high.as_ref())
}

pub fn failure(failure: &Failure) -> Entry<'_> {
    let event = match failure.event {
        Event::Interruption => "rate of interruptions",
        Event::Hard => "rate of hard failures",
        Event::Flap => "rate of flaps",
    };
    Entry::new(&failure.name, &failure.title, event, &failure.aliases)
        .note(failure.note.as_ref())
        .fact("rate", &failure.rate)
        .fact_if("the least published", failure.low.as_ref())
        .fact_if("the most published", failure.high.as_ref())
        .fact_if("variance over mean of a day's count", failure.dispersion.as_ref())
        .fact_if("GPUs of the population", failure.gpus.as_ref())
}

pub fn restart(run: &Restart) -> Entry<'_> {
    Entry::new(&run.name, &run.title, "checkpoints and restarts of a run", &run.aliases)
        .note(run.note.as_ref())
        .fact_if("restart", run.restart.as_ref())
        .fact_if("restart, at most", run.longest_restart.as_ref())
        .fact_if("a checkpoint stops the work for", run.save.as_ref())
        .fact_if("between two checkpoints", run.interval.as_ref())
        .fact_if("checkpoint of one GPU", run.checkpoint.as_ref())
}

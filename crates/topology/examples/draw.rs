//! Prints a drawing of a system or one-liner:
//! `cargo run -p weft-topology --example draw -- dgx-a100 svg > dgx-a100.svg`.
#![expect(clippy::print_stdout, reason = "an example to look at")]

use weft_catalogue::Catalogue;
use weft_topology::draw::{Options, dot, svg, text};
use weft_topology::{build, oneliner};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let line = arguments.next().unwrap_or_else(|| "dgx-a100".to_owned());
    let form = arguments.next().unwrap_or_else(|| "svg".to_owned());
    let catalogue = Catalogue::embedded();
    let machine = oneliner::parse(&line, catalogue).map_err(|finding| finding.to_string())?;
    let topology = build(&machine, catalogue)?.topology;
    let options = Options { title: &machine.title, catalogue: Some(catalogue) };
    let draw = match form.as_str() {
        "svg" => svg,
        "dot" => dot,
        "text" => text,
        _ => return Err("the forms are svg, dot and text".into()),
    };
    print!("{}", draw(&topology, &options));
    Ok(())
}

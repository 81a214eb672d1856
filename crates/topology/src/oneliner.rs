//! Machines in one line: `8 h100-sxm @ nvswitch3(4) + 8 cx7 @ pcie5x16`.
//!
//! ```text
//! machine = [ hosts "x" ] server [ "@" network ]
//! server  = system-name | part { "+" part }
//! part    = [ count ] device { "@" place } | [ count ] bridge
//! place   = "pcie" GENERATION "x" LANES       a root port of its own
//!         | pcie-switch "(" count ")"         behind so many PCIe switches
//!         | gpu-switch "(" count ")"          links spread over so many NVSwitches
//!         | "mesh" "(" links ")"              direct links between each pair
//! bridge  = "nvlink-bridge" | "sli" | "sli-hb" | "crossfire"
//! network = ( "rail-optimized" | "rail-only" | "fat-tree" | "dragonfly+" | "torus" | "single" ) [ "(" { option "," } ")" ]
//! option  = "leaf" PORTS [ "x" GIGABITS "G" ] | "oversubscription" N ":1" | "spine-oversubscription" N ":1"
//!         | "planes" N | "switch" name | "groups" N | "leaves" N | "spines" N | SIZE { "x" SIZE } | "links" N
//! ```
//! A device is a GPU, a NIC or a CPU of the catalogue, under any spelling that has no blanks.

mod advice;
mod assemble;
mod network;
mod token;

use weft_base::{Code, Diagnostic, Place};
use weft_catalogue::{Catalogue, Machine};

use network::NetworkAt;
use token::{Cursor, Token};

/// The line does not follow the grammar.
pub const SYNTAX: Code = Code {
    name: "one-liner-syntax",
    explanation: "A machine one-liner could not be read. The grammar is `[HOSTS x] PART { + PART } [@ NETWORK]`, \
        where a part is `COUNT DEVICE { @ PLACE }` or a bridge; docs/reference/one-liner.md has it in full.",
};

/// A name that the catalogue does not know.
pub const UNKNOWN_NAME: Code = Code {
    name: "unknown-name",
    explanation: "A device, switch, link or system is not in the catalogue under this or any other spelling. \
        The hint names the nearest that exist; a missing one can be added as one file in `catalogue/`.",
};

/// The parts do not make a machine.
pub const IMPOSSIBLE: Code = Code {
    name: "impossible-machine",
    explanation: "The description contradicts the hardware: more links than the GPU has, a bridge that the card does \
        not take, a GPU fabric on a GPU without one, or a device number that does not exist.",
};

/// Codes of this module.
pub const CODES: &[Code] = &[SYNTAX, UNKNOWN_NAME, IMPOSSIBLE];

/// One part of a server as written.
#[derive(Debug, Clone)]
struct Item {
    count: u32,
    name: Token,
    places: Vec<PlaceAt>,
}

/// Where a part is attached.
#[derive(Debug, Clone)]
struct PlaceAt {
    name: Token,
    argument: Option<u16>,
}

/// Reads a one-liner. The error's place counts columns of `text`; its file is the text itself.
pub fn parse(text: &str, catalogue: &Catalogue) -> Result<Machine, Diagnostic> {
    let tokens = token::split(text);
    read(text, &tokens, catalogue).map_err(|finding| {
        let column = finding.place.as_ref().map(|place| place.column);
        let at = tokens.iter().position(|token| Some(token.column) == column);
        // An end that came too early is about the word before it.
        let at = at.or_else(|| tokens.len().checked_sub(1));
        match at.and_then(|at| advice::rewritten(&tokens, at, catalogue)) {
            Some(meant) if finding.code != IMPOSSIBLE => finding.hint(format!("did you mean `{meant}`?")),
            Some(_) | None => finding,
        }
    })
}

fn read(text: &str, tokens: &[Token], catalogue: &Catalogue) -> Result<Machine, Diagnostic> {
    let mut cursor = Cursor::new(text, tokens);
    let hosts = leading_hosts(&mut cursor)?;
    let mut items = vec![item(&mut cursor, catalogue)?];
    while cursor.take("+") {
        items.push(item(&mut cursor, catalogue)?);
    }
    let network = if cursor.take("@") { Some(network::read(&mut cursor)?) } else { None };
    if let Some(rest) = cursor.peek() {
        return Err(cursor.error(rest, "`+` or the end of the line"));
    }
    assemble::machine(text, hosts, &items, network.as_ref(), catalogue)
}

/// `32 x` at the start.
fn leading_hosts(cursor: &mut Cursor<'_>) -> Result<u32, Diagnostic> {
    let is_hosts = cursor.peek_at(1).is_some_and(|token| token.text == "x")
        && cursor.peek().is_some_and(|token| token.text.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_hosts {
        return Ok(1);
    }
    let hosts = cursor.number("a number of hosts")?;
    cursor.take("x");
    Ok(hosts)
}

fn item(cursor: &mut Cursor<'_>, catalogue: &Catalogue) -> Result<Item, Diagnostic> {
    let starts_with_digit =
        cursor.peek().is_some_and(|token| token.text.bytes().all(|byte| byte.is_ascii_digit()));
    let count = if starts_with_digit { cursor.number("a count")? } else { 1 };
    let name = cursor.name("a device, such as `h100-sxm`")?;
    let mut places = Vec::new();
    while cursor.peek().is_some_and(|token| token.text == "@") && !network_follows(cursor) {
        cursor.take("@");
        places.push(place(cursor, catalogue)?);
    }
    Ok(Item { count, name, places })
}

fn network_follows(cursor: &Cursor<'_>) -> bool {
    cursor.peek_at(1).is_some_and(|token| network::design(&token.text).is_some())
}

fn place(cursor: &mut Cursor<'_>, catalogue: &Catalogue) -> Result<PlaceAt, Diagnostic> {
    let name = cursor.name("a place, such as `pcie5x16` or `nvswitch3(4)`")?;
    if !assemble::is_place(&name.text, catalogue) {
        return Err(assemble::unknown_place(cursor.text(), &name, catalogue));
    }
    let argument = if cursor.take("(") {
        let number = cursor.small_number("a count")?;
        cursor.expect(")")?;
        Some(number)
    } else {
        None
    };
    Ok(PlaceAt { name, argument })
}

/// The place of `token` in `text`.
fn place_of(text: &str, token: &Token) -> Place {
    Place::new(text, 1, token.column, u32::try_from(token.text.chars().count()).unwrap_or(0))
}

//! The page of collective algorithms.

use weft_collective::{Algorithm, Collective};

use super::table::table;

const INTRODUCTION: &str = "\
# Algorithms of collectives

How collectives can be carried out: each algorithm makes plans, which say rank by rank what is sent, received, added and \
copied. Every plan is proved: `weft-collective` plays it symbolically, for every order in which threads and messages can \
run, and each contribution must arrive exactly once.
";

/// A row for each algorithm, in the order of the list, and for each collective the algorithms that it has.
pub fn page(algorithms: &[&dyn Algorithm]) -> String {
    let code = |name: &str| format!("`{name}`");
    let row = |algorithm: &&dyn Algorithm| {
        let collectives: Vec<&str> = algorithm.collectives().iter().map(|one| one.name()).collect();
        let (title, needs) = (algorithm.title().to_owned(), algorithm.needs().to_owned());
        vec![code(algorithm.name()), title, collectives.join(", "), needs]
    };
    let rows: Vec<_> = algorithms.iter().map(row).collect();
    let mut page = format!("{}{INTRODUCTION}\n", super::HEAD);
    page.push_str(&table(&["name", "what it is, with its source", "collectives", "needs"], &rows));
    page.push_str("\n## By collective\n\n");
    let of = |collective: Collective| {
        let known = algorithms.iter().filter(|algorithm| algorithm.collectives().contains(&collective));
        let names: Vec<_> = known.map(|algorithm| code(algorithm.name())).collect();
        vec![collective.name().to_owned(), names.join(", ")]
    };
    let rows = Collective::ALL.map(of);
    page.push_str(&table(&["collective", "algorithms"], &rows));
    page
}

#[cfg(test)]
mod tests {
    use weft_collective::ALGORITHMS;

    #[test]
    fn each_algorithm_has_a_row_and_each_collective_an_algorithm() {
        let page = super::page(ALGORITHMS);
        assert!(page.contains("| `halving-doubling` | "));
        assert!(page.contains("| a power of two of ranks |"));
        assert!(page.contains("| send-recv | `direct` |"));
        assert_eq!(page.matches("\n| `").count(), ALGORITHMS.len());
    }
}

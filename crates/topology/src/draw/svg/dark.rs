//! The colours of a drawing in the dark, for pages that have one inside: a drawing alone is for slides, and light.

use std::fmt::Write as _;

use weft_catalogue::LinkFamily;

use super::canvas::{EDGE, FAINT, INK, PANEL, PAPER, SOFT, colours, lighter};

const FAMILIES: [LinkFamily; 8] = [
    LinkFamily::GpuFabric,
    LinkFamily::Coherent,
    LinkFamily::Pcie,
    LinkFamily::Socket,
    LinkFamily::Network,
    LinkFamily::DisplayBridge,
    LinkFamily::Memory,
    LinkFamily::OnPackage,
];

/// Rules of CSS for drawings inside elements of that class.
pub fn dark_style(class: &str) -> String {
    let mut rules = String::new();
    let neutral = [
        (INK, "#E6EAF0"),
        (SOFT, "#A3ADBB"),
        (FAINT, "#8793A3"),
        (EDGE, "#3F4957"),
        (PANEL, "#1D232C"),
        (PAPER, "#151A21"),
    ];
    for (light, dark) in neutral {
        rule(&mut rules, class, light, dark);
    }
    for family in FAMILIES {
        let (line, tint) = colours(family);
        let (bright, deep) = dark(family);
        rule(&mut rules, class, line, bright);
        rule(&mut rules, class, lighter(family), bright);
        rule(&mut rules, class, tint, deep);
    }
    format!("@media screen and (prefers-color-scheme:dark){{\n{rules}}}\n")
}

fn rule(rules: &mut String, class: &str, light: &str, dark: &str) {
    let _ = writeln!(
        rules,
        ".{class} [fill=\"{light}\"]{{fill:{dark}}}.{class} [stroke=\"{light}\"]{{stroke:{dark}}}"
    );
}

/// The colour of a family's links, and of surfaces.
fn dark(family: LinkFamily) -> (&'static str, &'static str) {
    match family {
        LinkFamily::GpuFabric => ("#6BBF59", "#1C2B19"),
        LinkFamily::Coherent => ("#35B0B0", "#122B2B"),
        LinkFamily::Pcie => ("#5B9BE6", "#182638"),
        LinkFamily::Socket => ("#EEA04C", "#33261A"),
        LinkFamily::Network => ("#A986E0", "#261D38"),
        LinkFamily::DisplayBridge => ("#E077A6", "#371D29"),
        LinkFamily::Memory | LinkFamily::OnPackage => ("#8C97A8", "#262C35"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_of_a_drawing_has_one_in_the_dark() {
        let rules = dark_style("x");
        for family in FAMILIES {
            let (line, tint) = colours(family);
            assert!(
                rules.contains(&format!("[stroke=\"{line}\"]"))
                    && rules.contains(&format!("[fill=\"{tint}\"]"))
            );
        }
        assert!(rules.contains(&format!(".x [fill=\"{PAPER}\"]")));
    }
}

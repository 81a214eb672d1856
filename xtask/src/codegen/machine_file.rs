//! The page of machine files: every key with what it means, from the type that reads them.

use std::fmt::Write;

use anyhow::{Context, Result};
use syn::{Fields, Item, Type};

use super::table::table;
use crate::house::Text;

/// The file whose types are the form of machine files.
pub const SOURCE: &str = "crates/catalogue/src/machine.rs";

const INTRODUCTION: &str = r#"# Machine files

A machine file describes a server, or a cluster of like servers, in TOML. It is accepted wherever `weft` takes a SOURCE, and the systems of the catalogue (`catalogue/systems/*.toml`) have the same form. The first line names the version of the form; a file with another version is refused rather than guessed at.

```toml
schema = "weft/machine/1"
gpus = [{ model = "a100-sxm4-80gb", count = 8 }]

[host]
cpu = "epyc-rome"
sockets = 2

[fabric]
switch = "nvswitch2"
switches = 6
```

Devices are numbered from 0 in the order of their groups. What is left out is assumed, and `weft show` lists what was assumed. Names are those of [the catalogue](catalogue.md), in any spelling it knows. A key that does not exist is an error, with the nearest that does.
"#;

/// The whole page.
pub fn page(source: &Text) -> Result<String> {
    let file = source.parse_rust()?;
    let mut page = format!("{}{INTRODUCTION}", super::HEAD);
    for item in &file.items {
        if let Item::Struct(structure) = item {
            section(&mut page, structure)?;
        }
        if let Item::Enum(choice) = item {
            words(&mut page, choice)?;
        }
    }
    Ok(page)
}

fn section(page: &mut String, structure: &syn::ItemStruct) -> Result<()> {
    let Fields::Named(fields) = &structure.fields else { return Ok(()) };
    let all_optional = is_optional(&structure.attrs);
    let mut rows = Vec::new();
    for field in &fields.named {
        let name = field.ident.as_ref().context("a field without a name")?;
        let kind = kind(&field.ty)?;
        let required = !all_optional && !is_optional(&field.attrs);
        let need = if required { "yes" } else { "" };
        rows.push(vec![format!("`{name}`"), kind, need.to_owned(), documentation(&field.attrs)]);
    }
    let table = table(&["key", "value", "required", "meaning"], &rows);
    write!(page, "\n## {}\n\n{}\n\n{table}", structure.ident, documentation(&structure.attrs))?;
    Ok(())
}

fn words(page: &mut String, choice: &syn::ItemEnum) -> Result<()> {
    let row = |variant: &syn::Variant| {
        vec![format!("`\"{}\"`", kebab(&variant.ident.to_string())), documentation(&variant.attrs)]
    };
    let rows: Vec<Vec<String>> = choice.variants.iter().map(row).collect();
    let table = table(&["word", "meaning"], &rows);
    write!(page, "\n## {}\n\n{}\n\n{table}", choice.ident, documentation(&choice.attrs))?;
    Ok(())
}

/// `FatTree` is written `fat-tree`.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// The doc comment as one line.
fn documentation(attributes: &[syn::Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| {
        let syn::Meta::NameValue(pair) = &attribute.meta else { return None };
        match (&pair.value, pair.path.is_ident("doc")) {
            (syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }), true) => {
                Some(text.value().trim().to_owned())
            }
            _ => None,
        }
    });
    lines.collect::<Vec<_>>().join(" ")
}

/// Whether serde fills in what is left out.
fn is_optional(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("serde")).any(|attribute| {
        let mut found = false;
        // An attribute of another form has no default, so the error says all there is to know.
        let _ = attribute.parse_nested_meta(|meta| {
            found |= meta.path.is_ident("default");
            if meta.input.peek(syn::Token![=]) {
                meta.value()?.parse::<syn::Lit>()?;
            }
            Ok(())
        });
        found
    })
}

/// A type in a reader's words, with a link where it has a section of its own.
fn kind(kind: &Type) -> Result<String> {
    let Type::Path(path) = kind else { anyhow::bail!("a field of a type that TOML cannot hold") };
    let last = path.path.segments.last().context("an empty type")?;
    let inner = match &last.arguments {
        syn::PathArguments::AngleBracketed(arguments) => arguments.args.first(),
        syn::PathArguments::None | syn::PathArguments::Parenthesized(_) => None,
    };
    let name = last.ident.to_string();
    Ok(match (name.as_str(), inner) {
        ("Option", Some(syn::GenericArgument::Type(inner))) => self::kind(inner)?,
        ("Vec", Some(syn::GenericArgument::Type(inner))) => format!("list of {}", self::kind(inner)?),
        ("String", _) => "text".to_owned(),
        ("u16" | "u32", _) => "number".to_owned(),
        ("bool", _) => "true or false".to_owned(),
        ("Ratio", _) => "number as text: `\"10.5\"`".to_owned(),
        ("Grade", _) => "text: a grade".to_owned(),
        _ => format!("[{name}](#{})", name.to_lowercase()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_meaning_and_whether_they_are_required() {
        let source = "/// A part.\n#[serde(deny_unknown_fields)]\npub struct Part {\n\
                      /// Its | name.\npub name: String,\n/// More.\n#[serde(default = \"none\")]\npub more: Vec<Option<Other>>,\n}\n\
                      /// A choice.\npub enum Way { /// Two words.\n TwoWords }";
        let text = page(&Text::new(SOURCE, source)).unwrap();
        assert!(text.contains("## Part\n\nA part.\n"), "{text}");
        assert!(text.contains("| `name` | text | yes | Its \\| name. |\n"), "{text}");
        assert!(text.contains("| `more` | list of [Other](#other) |  | More. |\n"), "{text}");
        assert!(text.contains("| `\"two-words\"` | Two words. |\n"), "{text}");
    }
}

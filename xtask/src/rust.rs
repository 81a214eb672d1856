//! Rust sources as trees: where functions begin and end, and what public signatures say.

use proc_macro2::Span;
use syn::visit::{self, Visit};

/// A function and the lines from its signature to its closing brace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// First line of the signature, from 1.
    pub line: usize,
    /// Lines, both ends counted.
    pub lines: usize,
}

/// All functions with a body, nested ones and tests included. What stands inside a macro call is not seen.
pub fn functions(file: &syn::File) -> Vec<Function> {
    let mut finder = Functions { found: Vec::new() };
    finder.visit_file(file);
    finder.found
}

struct Functions {
    found: Vec<Function>,
}

impl Functions {
    fn add(&mut self, signature: &syn::Signature, body: &syn::Block) {
        let (line, last) = (line_of(signature.fn_token.span), last_line(&body.brace_token));
        self.found.push(Function { name: signature.ident.to_string(), line, lines: last + 1 - line });
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.add(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

/// A raw number in a public signature: a field, or an argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawNumber {
    /// Name of the field or argument.
    pub name: String,
    /// The number's type: `f64`, `u64`.
    pub kind: String,
    /// `Type.field` or `function(argument)`, for messages and exceptions.
    pub owner: String,
    /// Line, from 1.
    pub line: usize,
}

/// Public fields and arguments of public functions whose type is a bare `f64`, `f32` or `u64`, also behind
/// references, slices, `Option` and `Vec`.
pub fn raw_numbers(file: &syn::File) -> Vec<RawNumber> {
    let mut finder = RawNumbers { found: Vec::new() };
    finder.visit_file(file);
    finder.found
}

struct RawNumbers {
    found: Vec<RawNumber>,
}

impl RawNumbers {
    fn fields(&mut self, owner: &syn::Ident, fields: &syn::Fields, all_public: bool) {
        for field in fields {
            let Some(name) = &field.ident else { continue };
            if all_public || is_public(&field.vis) {
                self.add(name, &field.ty, format!("{owner}.{name}"));
            }
        }
    }

    fn arguments(&mut self, signature: &syn::Signature) {
        for argument in &signature.inputs {
            let syn::FnArg::Typed(argument) = argument else { continue };
            let syn::Pat::Ident(name) = argument.pat.as_ref() else { continue };
            let owner = format!("{}({})", signature.ident, name.ident);
            self.add(&name.ident, &argument.ty, owner);
        }
    }

    fn add(&mut self, name: &syn::Ident, kind: &syn::Type, owner: String) {
        if let Some(kind) = raw_number(kind) {
            self.found.push(RawNumber { name: name.to_string(), kind, owner, line: line_of(name.span()) });
        }
    }
}

impl<'ast> Visit<'ast> for RawNumbers {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        if is_public(&item.vis) {
            self.fields(&item.ident, &item.fields, false);
        }
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        if is_public(&item.vis) {
            item.variants.iter().for_each(|variant| self.fields(&variant.ident, &variant.fields, true));
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if is_public(&item.vis) {
            self.arguments(&item.sig);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if is_public(&item.vis) {
            self.arguments(&item.sig);
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        for inner in item.items.iter().filter(|_| is_public(&item.vis)) {
            if let syn::TraitItem::Fn(function) = inner {
                self.arguments(&function.sig);
            }
        }
    }
}

fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "of syn's many kinds of types only these can hold a number"
)]
fn raw_number(kind: &syn::Type) -> Option<String> {
    let path = match kind {
        syn::Type::Reference(reference) => return raw_number(&reference.elem),
        syn::Type::Slice(slice) => return raw_number(&slice.elem),
        syn::Type::Array(array) => return raw_number(&array.elem),
        syn::Type::Path(path) => path.path.segments.last()?,
        _ => return None,
    };
    let name = path.ident.to_string();
    if ["f64", "f32", "u64"].contains(&name.as_str()) {
        return Some(name);
    }
    let syn::PathArguments::AngleBracketed(arguments) = &path.arguments else { return None };
    match (name.as_str(), arguments.args.first()) {
        ("Option" | "Vec", Some(syn::GenericArgument::Type(inner))) => raw_number(inner),
        _ => None,
    }
}

/// A constant of type `Code`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeConstant {
    /// The constant: `CELL_UNKNOWN`.
    pub constant: String,
    /// The code's name: `cell-unknown`.
    pub name: String,
    /// Its paragraph.
    pub explanation: String,
    /// Line, from 1.
    pub line: usize,
}

fn constants(file: &syn::File) -> impl Iterator<Item = &syn::ItemConst> {
    file.items
        .iter()
        .filter_map(|item| if let syn::Item::Const(constant) = item { Some(constant) } else { None })
}

/// All constants `const X: Code = Code { name: "...", explanation: "..." }`.
pub fn code_constants(file: &syn::File) -> Vec<CodeConstant> {
    let codes = constants(file).filter_map(|constant| {
        let syn::Expr::Struct(literal) = constant.expr.as_ref() else { return None };
        if literal.path.segments.last()?.ident != "Code" {
            return None;
        }
        let text = |wanted| literal.fields.iter().find_map(|field| named_text(field, wanted));
        Some(CodeConstant {
            constant: constant.ident.to_string(),
            name: text("name")?,
            explanation: text("explanation")?,
            line: line_of(constant.ident.span()),
        })
    });
    codes.collect()
}

/// A cause of the doctor's: `const X: Cause = Cause { code: "…", word: "…", … }`.
#[derive(Debug)]
pub struct CauseConstant {
    /// `D014`.
    pub code: String,
    /// `acs-iommu`.
    pub word: String,
    /// In a sentence.
    pub title: String,
    /// `Fault`, `Limit`, `Misreading`.
    pub nature: String,
    /// `Bandwidth`, `Latency`, `Running`.
    pub effect: String,
    /// A paragraph.
    pub explanation: String,
}

/// All causes of a file.
pub fn cause_constants(file: &syn::File) -> Vec<CauseConstant> {
    let causes = constants(file).filter_map(|constant| {
        let syn::Expr::Struct(literal) = constant.expr.as_ref() else { return None };
        if literal.path.segments.last()?.ident != "Cause" {
            return None;
        }
        let text = |wanted| literal.fields.iter().find_map(|field| named_text(field, wanted));
        let variant = |wanted| literal.fields.iter().find_map(|field| named_variant(field, wanted));
        Some(CauseConstant {
            code: text("code")?,
            word: text("word")?,
            title: text("title")?,
            nature: variant("nature")?,
            effect: variant("effect")?,
            explanation: text("explanation")?,
        })
    });
    causes.collect()
}

fn named_variant(field: &syn::FieldValue, wanted: &str) -> Option<String> {
    match (&field.member, &field.expr) {
        (syn::Member::Named(name), syn::Expr::Path(path)) if name == wanted => {
            path.path.segments.last().map(|segment| segment.ident.to_string())
        }
        _ => None,
    }
}

fn named_text(field: &syn::FieldValue, wanted: &str) -> Option<String> {
    match (&field.member, &field.expr) {
        (syn::Member::Named(name), syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }))
            if name == wanted =>
        {
            Some(text.value())
        }
        _ => None,
    }
}

/// Constants that stand in a list `const CODES: ... = &[A, module::B]`, by their last name.
pub fn listed_codes(file: &syn::File) -> Vec<String> {
    let mut finder = Names { found: Vec::new() };
    for list in constants(file).filter(|constant| constant.ident == "CODES") {
        finder.visit_expr(&list.expr);
    }
    finder.found
}

struct Names {
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for Names {
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        self.found.extend(path.path.segments.last().map(|segment| segment.ident.to_string()));
    }
}

/// Lines (from 1, both ends counted) of items that only tests see.
#[expect(clippy::wildcard_enum_match_arm, reason = "of syn's many kinds of items only these hold tests")]
pub fn test_lines(file: &syn::File) -> Vec<(usize, usize)> {
    let parts = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.attrs.iter().any(is_for_tests) => {
            Some((line_of(module.mod_token.span), last_line(&module.content.as_ref()?.0)))
        }
        syn::Item::Fn(function) if function.attrs.iter().any(is_for_tests) => {
            Some((line_of(function.sig.fn_token.span), last_line(&function.block.brace_token)))
        }
        _ => None,
    });
    parts.collect()
}

fn is_for_tests(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("test")
        || attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
}

fn last_line(braces: &syn::token::Brace) -> usize {
    braces.span.close().end().line
}

fn line_of(span: Span) -> usize {
    span.start().line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_signature_to_brace() {
        let file = syn::parse_file(
            "/// Doc.\nfn one() {}\n\nimpl X {\n    fn two(\n        a: u8,\n    ) {\n        fn inner() {\n        }\n    }\n}\n",
        );
        let found: Vec<_> = functions(&file.unwrap())
            .into_iter()
            .map(|found| (found.name, found.line, found.lines))
            .collect();
        let expected = [("one", 2, 1), ("two", 5, 6), ("inner", 8, 2)];
        assert_eq!(found, expected.map(|(name, line, lines)| (name.to_owned(), line, lines)));
    }

    #[test]
    fn only_public_raw_numbers_count() {
        let text = "pub struct A { pub rate: f64, hidden: f64, pub list: Vec<Option<u64>>, pub ok: Rate }\n\
                    pub fn f(time: &[f64], n: u16) {}\nfn g(time: f64) {}\n\
                    pub(crate) struct B { pub rate: f64 }\npub enum E { V { size: u64 } }";
        let found: Vec<String> =
            raw_numbers(&syn::parse_file(text).unwrap()).into_iter().map(|found| found.owner).collect();
        assert_eq!(found, ["A.rate", "A.list", "f(time)", "V.size"]);
    }

    #[test]
    fn codes_and_test_parts_are_found() {
        let text = "pub const X: Code = Code { name: \"some-name\", explanation: \"\" };\nconst Y: u8 = 1;\n\
                    #[cfg(test)]\nmod tests {\n    fn f() {}\n}\n#[cfg(unix)]\nmod other {}";
        let file = syn::parse_file(text).unwrap();
        let found = code_constants(&file);
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].constant.as_str(), found[0].name.as_str(), found[0].line),
            ("X", "some-name", 1)
        );
        assert_eq!(test_lines(&file), [(4, 6)]);
        let list = syn::parse_file("pub const CODES: &[Code] = &[A, crate::part::B];").unwrap();
        assert_eq!(listed_codes(&list), ["A", "B"]);
    }
}

//! The printed schema: equal to the checked-in file, documented everywhere, and exact where numbers are large.

use std::path::Path;

use api::graphql::sdl;
use async_graphql::Positioned;
use async_graphql::parser::parse_schema;
use async_graphql::parser::types::{BaseType, FieldDefinition, Type, TypeDefinition, TypeKind, TypeSystemDefinition};

#[test]
fn is_the_file_that_is_checked_in() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schema.graphql");
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(stored == sdl(), "schema.graphql differs from the code: run `make update` and look at the difference");
}

#[test]
fn documents_every_type_and_field() {
    let mut missing = Vec::new();
    for ty in types() {
        let name = ty.name.node.as_str();
        missing.extend(ty.description.is_none().then(|| name.to_owned()));
        for (field, is_described, _) in fields(&ty.kind) {
            missing.extend((!is_described).then(|| format!("{name}.{field}")));
        }
    }
    assert!(missing.is_empty(), "without a description: {missing:?}");
}

#[test]
fn uses_no_int_where_numbers_may_outgrow_it() {
    let large = ["token", "byte", "sequence", "nano", "supersedes", "used", "reserved"];
    // Output cap of one call, a small number at every provider.
    let small = ["ModelVersion.maxOutputTokens", "ModelSpecInput.maxOutputTokens"];
    let mut wrong = Vec::new();
    for ty in types() {
        for (field, _, base) in fields(&ty.kind) {
            let place = format!("{}.{field}", ty.name.node);
            let is_large = large.iter().any(|word| field.to_lowercase().contains(word));
            wrong.extend((is_large && base == "Int" && !small.contains(&place.as_str())).then_some(place));
        }
    }
    assert!(wrong.is_empty(), "these need BigInt: {wrong:?}");
}

#[test]
fn explains_every_stop_reason_in_the_documents() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/errors.md");
    let document = std::fs::read_to_string(path).unwrap();
    let codes = types().into_iter().find(|ty| ty.name.node == "StopReasonCode").unwrap();
    let codes = fields(&codes.kind);
    assert!(codes.len() > 10);
    for (code, _, _) in codes {
        assert!(document.contains(&format!("\n| `{code}` |")), "docs/errors.md has no row for {code}");
    }
}

fn types() -> Vec<TypeDefinition> {
    let definitions = parse_schema(sdl()).unwrap().definitions.into_iter();
    let types = definitions.filter_map(|definition| match definition {
        TypeSystemDefinition::Type(ty) => Some(ty.node),
        _ => None,
    });
    types.collect()
}

/// Name, whether it is described, and base type of each field, input field or enum value.
fn fields(kind: &TypeKind) -> Vec<(String, bool, String)> {
    match kind {
        TypeKind::Object(ty) => outputs(&ty.fields),
        TypeKind::Interface(ty) => outputs(&ty.fields),
        TypeKind::InputObject(ty) => {
            let fields = ty.fields.iter().map(|field| &field.node);
            fields.map(|f| (f.name.node.to_string(), f.description.is_some(), base(&f.ty.node))).collect()
        }
        TypeKind::Enum(ty) => {
            let values = ty.values.iter().map(|value| &value.node);
            values.map(|v| (v.value.node.to_string(), v.description.is_some(), String::new())).collect()
        }
        TypeKind::Scalar | TypeKind::Union(_) => Vec::new(),
    }
}

fn outputs(fields: &[Positioned<FieldDefinition>]) -> Vec<(String, bool, String)> {
    let fields = fields.iter().map(|field| &field.node);
    fields.map(|f| (f.name.node.to_string(), f.description.is_some(), base(&f.ty.node))).collect()
}

fn base(ty: &Type) -> String {
    match &ty.base {
        BaseType::Named(name) => name.to_string(),
        BaseType::List(inner) => base(inner),
    }
}

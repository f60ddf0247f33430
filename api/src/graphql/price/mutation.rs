//! Importing price tables.

use async_graphql::{Context, ID, InputObject, Object, SimpleObject};
use domain::ids::ProjectId;
use domain::price_table::{Imported, import, read_price_file};

use super::object::ModelPrice;
use crate::graphql::context::ContextExt;
use crate::graphql::error::ApiError;
use crate::graphql::scalar::int;
use crate::graphql::user_error::{Faults, UserError, outcome};

/// The price table that is to be imported.
#[derive(InputObject)]
pub struct PriceTableImportInput {
    /// The project whose table it is.
    project_id: ID,
    /// The content of a price file: JSON as docs/prices.md says, as one text, so that its numbers keep their digits.
    table: String,
}

/// The versions of the file's prices, or what is wrong with it.
#[derive(SimpleObject)]
pub struct PriceTableImportPayload {
    /// The version of each price, in the order of the file; null when there are user errors, and nothing was imported.
    prices: Option<Vec<ModelPrice>>,
    /// How many of them are new; the others were in the table already.
    added: i32,
    /// What the caller must mend; empty on success.
    user_errors: Vec<UserError>,
}

/// Importing price tables.
#[derive(Default)]
pub struct PriceMutation;

#[Object]
impl PriceMutation {
    /// Imports a price file into a project's table, all of it or nothing; needs the role editor. What is imported never
    /// changes: a new price has a later moment.
    async fn price_table_import(
        &self,
        ctx: &Context<'_>,
        input: PriceTableImportInput,
    ) -> Result<PriceTableImportPayload, ApiError> {
        let (op, ports, mut faults) = (ctx.op()?, ctx.services()?.price_import_ports(), Faults::default());
        let project: ProjectId = faults.id(&["projectId"], &input.project_id);
        let lines = read_price_file(&input.table, &["table"]).unwrap_or_else(|found| {
            faults.0.extend(found);
            Vec::new()
        });
        let result = match faults.with((project, lines)).checked(|_| Vec::new()) {
            Ok((project, lines)) => import(&op, &ports, project, &lines, &["table"]).await,
            Err(refusal) => Err(refusal),
        };
        Ok(outcome(result)?.into())
    }
}

impl From<Result<Imported, Vec<UserError>>> for PriceTableImportPayload {
    fn from(outcome: Result<Imported, Vec<UserError>>) -> Self {
        match outcome {
            Ok(imported) => Self {
                prices: Some(imported.versions.into_iter().map(ModelPrice::from).collect()),
                added: int(u32::try_from(imported.added).unwrap_or(u32::MAX)),
                user_errors: Vec::new(),
            },
            Err(user_errors) => Self { prices: None, added: 0, user_errors },
        }
    }
}

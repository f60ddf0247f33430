//! Price versions of a table, as the API shows them.

use async_graphql::SimpleObject;
use domain::price_table;

use crate::graphql::money::PriceVersion;
use crate::graphql::scalar::DateTime;

/// One version of a model's prices in a project's table; immutable.
#[derive(Clone, SimpleObject)]
pub struct ModelPrice {
    /// Who runs the model.
    provider: String,
    /// The provider's name of the model.
    deployment: String,
    /// Its id, the prices, and from when on they hold.
    version: PriceVersion,
    /// When it was imported.
    imported_at: DateTime,
}

impl From<price_table::ModelPrice> for ModelPrice {
    fn from(price: price_table::ModelPrice) -> Self {
        Self {
            provider: price.model.provider,
            deployment: price.model.deployment,
            version: price.version.into(),
            imported_at: price.imported_at.into(),
        }
    }
}

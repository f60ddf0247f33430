//! The members that heads, versions and payloads of all kinds share, written once.

/// A head: `resource_head!(/// doc  Agent => AgentVersion)`.
macro_rules! resource_head {
    ($(#[$doc:meta])* $head:ident => $version:ident) => {
        /// The mutable head of a resource, as the API shows it.
        pub struct $head(pub domain::resource::Resource);

        $(#[$doc])*
        #[async_graphql::Object]
        impl $head {
            /// Its id.
            pub async fn id(&self) -> async_graphql::ID {
                self.0.id.to_string().into()
            }

            /// Unique in project and kind.
            async fn slug(&self) -> &str {
                &self.0.slug
            }

            /// For people.
            async fn name(&self) -> &str {
                &self.0.name
            }

            /// When it was hidden from new use.
            async fn archived_at(&self) -> Option<$crate::graphql::scalar::DateTime> {
                self.0.archived_at.map(Into::into)
            }

            /// When it was made.
            async fn created_at(&self) -> $crate::graphql::scalar::DateTime {
                self.0.created_at.into()
            }

            /// The newest published version.
            async fn latest_version(
                &self,
                ctx: &async_graphql::Context<'_>,
            ) -> Result<Option<$version>, $crate::graphql::error::ApiError> {
                Ok($crate::graphql::resource::visible_latest(ctx, self.0.id).await?.and_then($version::new))
            }

            /// All versions, newest first.
            async fn versions(
                &self,
                ctx: &async_graphql::Context<'_>,
                first: Option<i32>,
                after: Option<String>,
            ) -> Result<$crate::graphql::connection::Listing<$version>, $crate::graphql::error::ApiError> {
                $crate::graphql::resource::list_versions(ctx, self.0.id, first, after, $version::new).await
            }
        }
    };
}

/// A version: `resource_version!(/// doc  #[graphql(complex)] AgentVersion, Agent |row, spec| { ... })`. In braces: what
/// further resolvers need of the stored row and its specification.
macro_rules! resource_version {
    ($(#[$attribute:meta])* $name:ident, $kind:ident |$row:ident, $spec:ident| {
        $($kept:ident: $type:ty = $value:expr),*
    }) => {
        #[derive(async_graphql::SimpleObject)]
        $(#[$attribute])*
        pub struct $name {
            /// Its id.
            #[graphql(owned)]
            pub id: async_graphql::ID,
            /// 1, 2, 3, ... within the resource.
            #[graphql(owned)]
            pub number: i32,
            /// Draft or published.
            #[graphql(owned)]
            pub state: $crate::graphql::resource::ResourceVersionState,
            /// Hexadecimal SHA-256 of the stored specification.
            #[graphql(owned)]
            pub digest: String,
            /// When it was written.
            #[graphql(owned)]
            pub created_at: $crate::graphql::scalar::DateTime,
            /// When it was published.
            #[graphql(owned)]
            pub published_at: Option<$crate::graphql::scalar::DateTime>,
            $(
                #[graphql(skip)]
                $kept: $type,
            )*
        }

        impl $name {
            /// A stored version; None when it is of another kind.
            pub fn new($row: domain::resource::ResourceVersion) -> Option<Self> {
                let domain::resource::Spec::$kind($spec) = $row.spec else {
                    return None;
                };
                Some(Self {
                    id: $row.id.to_string().into(),
                    number: $crate::graphql::scalar::int($row.number),
                    state: $row.state.into(),
                    digest: $row.digest,
                    created_at: $row.created_at.into(),
                    published_at: $row.published_at.map(Into::into),
                    $($kept: $value,)*
                })
            }
        }
    };
}

/// A payload of create and version-create: `resource_payload!(/// doc  AgentPayload, agent: Agent, AgentVersion)`.
macro_rules! resource_payload {
    ($(#[$doc:meta])* $name:ident, $field:ident: $head:ident, $version:ident) => {
        $(#[$doc])*
        #[derive(async_graphql::SimpleObject)]
        pub struct $name {
            /// The resource; null when there are user errors.
            $field: Option<$head>,
            /// The version that was written.
            version: Option<$version>,
            /// What the caller must mend; empty on success.
            user_errors: Vec<$crate::graphql::user_error::UserError>,
        }

        impl From<$crate::graphql::user_error::Outcome<domain::resource::Written>> for $name {
            fn from(outcome: $crate::graphql::user_error::Outcome<domain::resource::Written>) -> Self {
                match outcome {
                    Ok(written) => Self {
                        $field: Some($head(written.resource)),
                        version: $version::new(written.version),
                        user_errors: Vec::new(),
                    },
                    Err(user_errors) => Self { $field: None, version: None, user_errors },
                }
            }
        }
    };
}

pub(in crate::graphql) use {resource_head, resource_payload, resource_version};

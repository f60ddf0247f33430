import type { RunQuery } from "@/graphql/generated/graphql";

/** A run as the API describes it, beside its log. */
export type Run = NonNullable<RunQuery["execution"]>;

import { existsSync } from "node:fs";
import type { CodegenConfig } from "@graphql-codegen/cli";

const printed = "../schema.graphql";

const config: CodegenConfig = {
  schema: existsSync(printed) ? printed : "schema.draft.graphql",
  documents: ["src/**/*.{ts,tsx}", "!src/graphql/generated/**"],
  generates: {
    "src/graphql/generated/": {
      preset: "client",
      presetConfig: { fragmentMasking: { unmaskFunctionName: "readFragment" } },
      config: {
        scalars: { DateTime: "string", BigInt: "string", Decimal: "string", JSON: "unknown" },
        strictScalars: true,
        enumsAsTypes: true,
        useTypeImports: true,
        skipTypename: false,
      },
    },
  },
};

export default config;

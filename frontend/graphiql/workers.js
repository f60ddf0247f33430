// Where the editor's workers come from. GraphiQL's own setup for Vite names them in a way that Vite's dependency
// optimizer cannot follow, so they are named here.

import EditorWorker from "monaco-editor/esm/vs/editor/editor.worker.js?worker";
import JsonWorker from "monaco-editor/esm/vs/language/json/json.worker.js?worker";
import GraphQLWorker from "monaco-graphql/esm/graphql.worker.js?worker";

const workers = { graphql: GraphQLWorker, json: JsonWorker };

globalThis.MonacoEnvironment = { getWorker: (_id, label) => new (workers[label] ?? EditorWorker)() };

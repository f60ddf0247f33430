import "./app/mantine.css";
import "./app/palette.css";
import "./app/base.css";
import { MantineProvider } from "@mantine/core";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { Provider } from "urql";
import { App } from "./app/App";
import { cssVariablesResolver, theme } from "./app/theme";
import { client } from "./graphql/client";

const root = document.getElementById("root");
if (root === null) throw new Error("the page has no root element");

createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={cssVariablesResolver} defaultColorScheme="auto">
      <Provider value={client}>
        <App />
      </Provider>
    </MantineProvider>
  </StrictMode>,
);

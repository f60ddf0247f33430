import { createTheme } from "@mantine/core";
import type { CSSVariablesResolver, MantineColorsTuple } from "@mantine/core";

const accent: MantineColorsTuple = [
  "#eef4ff",
  "#dbe7ff",
  "#b4cdff",
  "#8ab3ff",
  "#5ea2ff",
  "#3d86f5",
  "#1f6feb",
  "#1a5fd0",
  "#164fae",
  "#123f8a",
];

/** The library paints fields and menus in these; they are the surfaces of the palette. */
const dark: MantineColorsTuple = [
  "#e6e8eb",
  "#c5cad1",
  "#98a1ad",
  "#7d8794",
  "#262b32",
  "#22272e",
  "#14171b",
  "#0e1013",
  "#0a0c0e",
  "#08090b",
];

const weight = { fontWeight: 500 };

export const theme = createTheme({
  fontFamily: "var(--font-sans)",
  fontFamilyMonospace: "var(--font-mono)",
  fontSizes: { xs: "11.5px", sm: "13px", md: "13.5px", lg: "15px", xl: "18px" },
  headings: { fontFamily: "var(--font-sans)", fontWeight: "600" },
  defaultRadius: "6px",
  primaryColor: "accent",
  primaryShade: { light: 6, dark: 7 },
  colors: { accent, dark },
  components: {
    Button: { styles: { label: weight } },
    SegmentedControl: { styles: { label: weight } },
    InputWrapper: { styles: { label: weight } },
  },
  cursorType: "pointer",
  respectReducedMotion: true,
  focusRing: "auto",
});

const surfaces = {
  "--mantine-color-body": "var(--bg)",
  "--mantine-color-text": "var(--text)",
  "--mantine-color-dimmed": "var(--dim)",
  "--mantine-color-placeholder": "var(--faint)",
  "--mantine-color-default": "var(--panel)",
  "--mantine-color-default-hover": "var(--raised)",
  "--mantine-color-default-color": "var(--text)",
  "--mantine-color-default-border": "var(--line)",
  "--mantine-color-error": "var(--bad)",
  "--mantine-color-anchor": "var(--accent)",
};

/** Points the library's surfaces at the palette, so that its parts and ours are one. */
export const cssVariablesResolver: CSSVariablesResolver = () => ({ variables: {}, light: surfaces, dark: surfaces });

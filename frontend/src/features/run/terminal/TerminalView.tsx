import "@xterm/xterm/css/xterm.css";
import { useComputedColorScheme } from "@mantine/core";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import type { ITheme } from "@xterm/xterm";
import { useEffect, useRef } from "react";
import classes from "./terminal.module.css";

interface Props {
  text: string;
  /** Characters cut from the head of `text` so far. */
  droppedChars: number;
  label: string;
}

/** A terminal that only reads: it grows with the output and keeps the place of who scrolled up. */
export default function TerminalView({ text, droppedChars, label }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const terminal = useRef<Terminal | null>(null);
  const written = useRef(0);
  const scheme = useComputedColorScheme("dark", { getInitialValueInEffect: false });

  useEffect(() => {
    if (box.current === null) return;
    const view = new Terminal({
      convertEol: true,
      disableStdin: true,
      cursorInactiveStyle: "none",
      fontFamily: getComputedStyle(document.documentElement).getPropertyValue("--font-mono"),
      fontSize: 12.5,
      lineHeight: 1.3,
      minimumContrastRatio: 3,
      scrollback: 20_000,
      scrollSensitivity: 2,
    });
    const fit = new FitAddon();
    view.loadAddon(fit);
    view.open(box.current);
    view.attachCustomKeyEventHandler((event) => {
      if (event.type === "keydown") SCROLLS[event.key]?.(view);
      // No key is for the terminal: Tab moves on, and Escape closes what it stands in.
      return false;
    });
    // Whether the box around it takes the focus before or after this, it ends here.
    view.textarea?.setAttribute("data-autofocus", "");
    view.focus();
    const observer = new ResizeObserver(() => fit.fit());
    observer.observe(box.current);
    terminal.current = view;
    written.current = 0;
    return () => {
      observer.disconnect();
      view.dispose();
      terminal.current = null;
    };
  }, []);

  useEffect(() => {
    if (terminal.current) terminal.current.options.theme = themeNow();
    // oxlint-disable-next-line react/exhaustive-effect-dependencies -- the palette on the page changes with the scheme
  }, [scheme]);

  useEffect(() => {
    const from = Math.max(0, written.current - droppedChars);
    terminal.current?.write(text.slice(from));
    written.current = droppedChars + text.length;
  }, [text, droppedChars]);

  return <div ref={box} className={classes.terminal} role="log" aria-label={label} />;
}

const SCROLLS: Record<string, (view: Terminal) => void> = {
  ArrowUp: (view) => view.scrollLines(-1),
  ArrowDown: (view) => view.scrollLines(1),
  PageUp: (view) => view.scrollPages(-1),
  PageDown: (view) => view.scrollPages(1),
  Home: (view) => view.scrollToTop(),
  End: (view) => view.scrollToBottom(),
};

const ANSI_NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** The emulator paints by itself, so the palette of the theme in force is handed over as values. */
function themeNow(): ITheme {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(name).trim();
  const ansi = ANSI_NAMES.flatMap((name) => {
    const value = color(`--ansi-${name}`);
    return [
      [name, value],
      [`bright${name.charAt(0).toUpperCase()}${name.slice(1)}`, value],
    ];
  });
  return {
    background: color("--term"),
    foreground: color("--text"),
    selectionBackground: `${color("--accent")}55`,
    ...Object.fromEntries(ansi),
  };
}

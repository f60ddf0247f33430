import { Tooltip } from "@mantine/core";
import { IconCoin, IconPlus, IconStack2, IconTimeline } from "@tabler/icons-react";
import { Link, useLocation } from "wouter";
import classes from "./Shell.module.css";
import { ThemeSwitch } from "./ThemeSwitch";

const PLACES = [
  { href: "/", label: "Runs", Icon: IconTimeline, isHere: (path: string) => path === "/" || path.startsWith("/runs/") },
  { href: "/start", label: "Start a run", Icon: IconPlus, isHere: (path: string) => path === "/start" },
  { href: "/costs", label: "Costs", Icon: IconCoin, isHere: (path: string) => path === "/costs" },
  { href: "/resources", label: "Resources", Icon: IconStack2, isHere: (path: string) => path === "/resources" },
];

export function Rail() {
  const [path] = useLocation();
  return (
    <nav className={classes.rail} aria-label="Main">
      <Link href="/" className={classes.logo} aria-label="Vitrine Studio">
        V
      </Link>
      {PLACES.map(({ href, label, Icon, isHere }) => (
        <Tooltip key={href} label={label} position="right" openDelay={300}>
          <Link href={href} className={classes.place} aria-label={label} aria-current={isHere(path) ? "page" : undefined}>
            <Icon size={19} stroke={1.7} aria-hidden />
          </Link>
        </Tooltip>
      ))}
      <span className={classes.spring} />
      <ThemeSwitch />
    </nav>
  );
}

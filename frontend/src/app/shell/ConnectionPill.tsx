import { Tooltip } from "@mantine/core";
import { useConnection } from "@/graphql/connection";
import type { Connection } from "@/graphql/connection";
import { useNow } from "@/lib/useNow";
import classes from "./Shell.module.css";

/** Says whether the screen follows the server. */
export function ConnectionPill() {
  const connection = useConnection();
  const now = useNow(connection.state === "reconnecting");
  const { word, hint } = wording(connection, now);
  return (
    <Tooltip label={hint} multiline maw={260}>
      <span className={classes.pill} data-state={connection.state} role="status" tabIndex={0}>
        <i className={classes.dot} aria-hidden />
        {word}
      </span>
    </Tooltip>
  );
}

function wording(connection: Connection, now: number): { word: string; hint: string } {
  switch (connection.state) {
    case "live":
      return { word: "Live", hint: "Changes arrive as they happen." };
    case "connecting":
      return { word: "Connecting", hint: "Opening the live connection." };
    case "offline":
      return { word: "Offline", hint: "This computer is offline. The page goes on where it was as soon as it is back." };
    case "reconnecting": {
      const left = connection.retryAt === null ? 0 : Math.ceil((connection.retryAt - now) / 1_000);
      return {
        word: left > 0 ? `Reconnecting ${left} s` : "Reconnecting",
        hint: "The live connection was lost. Nothing is missed: the page goes on from the last event that it has.",
      };
    }
  }
}

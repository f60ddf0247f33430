import { Heading } from "./Facts";
import classes from "./details.module.css";

/** What the model passed to the tool: text as it is, so that programs read as programs. */
export function Arguments({ value, raw }: { value: unknown; raw: string }) {
  if (raw === "" && value === null) return null;
  const entries = entriesOf(value, raw);
  return (
    <>
      <Heading>Arguments</Heading>
      {entries.length === 0 && <p className={`${classes.argument} dim`}>None</p>}
      {entries.map(([name, content]) => (
        <div key={name} className={classes.argument}>
          <span className={classes.argumentName}>{name}</span>
          <pre className={classes.code} tabIndex={0} aria-label={`Argument ${name}`}>
            {typeof content === "string" ? content : JSON.stringify(content, null, 2)}
          </pre>
        </div>
      ))}
    </>
  );
}

function entriesOf(value: unknown, raw: string): [string, unknown][] {
  if (value === null || value === undefined) return [["not valid JSON", raw]];
  return typeof value === "object" && !Array.isArray(value) ? Object.entries(value) : [["value", value]];
}

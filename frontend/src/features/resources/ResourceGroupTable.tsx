import { formatAgo } from "@/lib/format";
import { useNow } from "@/lib/useNow";
import { Tag } from "@/ui/Tag";
import type { ResourceGroup } from "./model/groups";
import classes from "./resources.module.css";

export function ResourceGroupTable({ group }: { group: ResourceGroup }) {
  const now = useNow(true, 5_000);
  if (group.rows.length === 0) return null;
  return (
    <section aria-label={group.title}>
      <h2 className={classes.heading}>{group.title}</h2>
      <table className={classes.table}>
        <tbody>
          {group.rows.map((row) => (
            <tr key={row.id}>
              <td className={classes.name}>
                <b>{row.name}</b> {row.slug !== row.name && <code className="faint">{row.slug}</code>}
              </td>
              <td className={classes.version}>
                <Tag>{row.version}</Tag> {row.isArchived && <Tag tone="warn">archived</Tag>}
              </td>
              <td className={`${classes.says} dim`}>
                {row.publishedAs}
                {row.warnings.map(({ code, message }) => (
                  <p className={`${classes.warning} warn`} key={code} title={code}>
                    {message}
                  </p>
                ))}
              </td>
              <td className={`${classes.digest} num faint`}>{row.digest}</td>
              <td className={`${classes.age} dim`}>{row.createdAt === null ? "" : formatAgo(Date.parse(row.createdAt), now)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

import { useQuery } from "urql";
import { formatFileName } from "@/lib/format";
import type { ArtifactView } from "../model/types";
import { ArtifactLinkQuery } from "../run.graphql";
import classes from "./artifacts.module.css";

/** A picture at a glance; a click shows it whole. Its place is kept while it loads. */
export function ArtifactPicture({ artifact, onOpen }: { artifact: ArtifactView; onOpen: () => void }) {
  const [{ data }] = useQuery({ query: ArtifactLinkQuery, variables: { id: artifact.id } });
  const url = data?.node != null && "downloadUrl" in data.node ? data.node.downloadUrl : null;
  return (
    <button type="button" className={classes.picture} onClick={onOpen} aria-label={`Show ${formatFileName(artifact.name)}`}>
      {url !== null && <img src={url} alt="" />}
    </button>
  );
}

import { createContext, use } from "react";
import type { ViewerQuery } from "@/graphql/generated/graphql";

export type Viewer = NonNullable<ViewerQuery["viewer"]>;

export const ViewerContext = createContext<Viewer | null>(null);

/** The project whose runs and resources the pages show; null when the viewer has none. */
export function useProjectId(): string | null {
  return use(ViewerContext)?.defaultProject?.id ?? null;
}

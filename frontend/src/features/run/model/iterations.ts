import type { IterationView, RunView, StreamItem } from "./types";

/** Puts a notice into the iteration that is open, or keeps it for the next one. */
export function addItem(view: RunView, item: StreamItem): RunView {
  const last = view.iterations.at(-1);
  if (last === undefined || last.endedAt !== null) return { ...view, notices: [...view.notices, item] };
  return editIteration(view, last.number, (iteration) => ({ ...iteration, items: [...iteration.items, item] }));
}

export function startIteration(view: RunView, number: number, at: number): RunView {
  if (view.iterations.some((iteration) => iteration.number === number)) return view;
  const opened: IterationView = { number, startedAt: at, endedAt: null, items: view.notices };
  return { ...view, notices: [], iterations: [...view.iterations, opened] };
}

export function editIteration(view: RunView, number: number, edit: (it: IterationView) => IterationView): RunView {
  return { ...view, iterations: view.iterations.map((it) => (it.number === number ? edit(it) : it)) };
}

export function pushItem(view: RunView, number: number, at: number, item: StreamItem): RunView {
  return editIteration(startIteration(view, number, at), number, (it) => ({ ...it, items: [...it.items, item] }));
}

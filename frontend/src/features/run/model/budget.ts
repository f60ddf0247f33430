import { readFragment } from "@/graphql/generated";
import type { FragmentType } from "@/graphql/generated";
import { BudgetFields } from "./events.graphql";

export interface Meter {
  spent: number;
  reserved: number;
  limit: number | null;
}

export interface Budget {
  cost: Meter;
  tokens: Meter;
  iterations: Meter;
  modelCalls: Meter;
  toolCalls: Meter;
  activeTimeMs: Meter;
}

interface Count {
  used: string;
  reserved?: string;
  limit: string | null;
}

export function readBudget(fragment: FragmentType<typeof BudgetFields>): Budget {
  const { cost, tokens, iterations, modelCalls, toolCalls, activeTime } = readFragment(BudgetFields, fragment);
  return {
    cost: {
      spent: Number(cost.spent.amount),
      reserved: Number(cost.reserved.amount),
      limit: cost.limit === null ? null : Number(cost.limit.amount),
    },
    tokens: countMeter(tokens),
    iterations: countMeter(iterations),
    modelCalls: countMeter(modelCalls),
    toolCalls: countMeter(toolCalls),
    activeTimeMs: countMeter(activeTime),
  };
}

/** What was spent stays spent: a late or repeated reading never moves a meter backwards. */
export function advanceBudget(before: Budget | null, next: Budget): Budget {
  if (before === null) return next;
  return {
    cost: advance(before.cost, next.cost),
    tokens: advance(before.tokens, next.tokens),
    iterations: advance(before.iterations, next.iterations),
    modelCalls: advance(before.modelCalls, next.modelCalls),
    toolCalls: advance(before.toolCalls, next.toolCalls),
    activeTimeMs: advance(before.activeTimeMs, next.activeTimeMs),
  };
}

function advance(before: Meter, next: Meter): Meter {
  return {
    spent: Math.max(before.spent, next.spent),
    reserved: next.reserved,
    limit: next.limit ?? before.limit,
  };
}

function countMeter(count: Count): Meter {
  return {
    spent: Number(count.used),
    reserved: Number(count.reserved ?? 0),
    limit: count.limit === null ? null : Number(count.limit),
  };
}

import type { Tier } from './tier.ts'

/**
 * Resolves when the API server serves the kind of a definition. `--for=condition` of kubectl fails over one that is a moment
 * old, which has a status without conditions.
 */
export async function served(tier: Tier, definition: string): Promise<void> {
  const established = '{.status.conditions[?(@.type=="Established")].status}'
  await tier.kubectl(['wait', `--for=jsonpath=${established}=True`, `crd/${definition}`])
}

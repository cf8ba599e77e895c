import type { StoredObject } from '../api/api-object.ts'
import type { KubernetesApi, Selection } from '../api/kubernetes-api.ts'

/** As clients of Kubernetes usually ask. A page of StatefulSets is then below 10 MB. */
const PAGE_LIMIT = 500

/** A list of one moment. A watch continues from its version. */
export interface WholeList {
  readonly items: readonly StoredObject[]
  readonly resourceVersion: string
}

/** All pages of a list, of one moment. Fails with 410 if the API forgets that moment between two pages. */
export async function listAll(
  api: KubernetesApi,
  selection: Selection,
  signal: AbortSignal,
): Promise<WholeList> {
  const items: StoredObject[] = []
  let page = await api.list(selection, { limit: PAGE_LIMIT, continueToken: '' }, signal)
  items.push(...page.items)
  while (page.continueToken !== '') {
    const { continueToken } = page
    page = await api.list(selection, { limit: PAGE_LIMIT, continueToken }, signal)
    items.push(...page.items)
  }
  return { items, resourceVersion: page.resourceVersion }
}

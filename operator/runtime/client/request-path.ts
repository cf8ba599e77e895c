// Where the API serves what a request is about.

import type { ObjectRef } from '../api/api-object.ts'
import type { Selection, WatchRequest } from '../api/kubernetes-api.ts'

type Query = Readonly<Record<string, string>>

/** The path of a list, or of a single object with `name`. */
export function pathOf({
  kind,
  namespace,
  name = '',
}: Omit<ObjectRef, 'name'> & { readonly name?: string }): string {
  const group = kind.group === '' ? ['api'] : ['apis', kind.group]
  const within = kind.namespaced && namespace !== '' ? ['namespaces', namespace] : []
  const parts = [...group, kind.version, ...within, kind.plural, ...(name === '' ? [] : [name])]
  return `/${parts.map(encodeURIComponent).join('/')}`
}

export function listPath(
  selection: Selection,
  { limit, continueToken }: { readonly limit: number; readonly continueToken: string },
): string {
  return (
    pathOf(selection) +
    queryOf({
      ...selected(selection),
      limit: String(limit),
      continue: continueToken,
    })
  )
}

export function watchPath(request: WatchRequest): string {
  return (
    pathOf(request) +
    queryOf({
      ...selected(request),
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: request.resourceVersion,
      timeoutSeconds: String(request.timeoutSeconds),
    })
  )
}

/** The text of a query, without the members that are empty. */
export function queryOf(query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== '')
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`
}

function selected({ labelSelector }: Selection): Query {
  return { labelSelector }
}

// What a chart renders, as objects.

import { parseAllYaml } from '../../support/yaml.ts'

export interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

export interface RenderedObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly rules?: readonly Rule[]
  readonly roleRef?: { readonly kind: string; readonly name: string }
  readonly subjects?: readonly { readonly name: string; readonly namespace?: string }[]
  readonly spec?: Readonly<Record<string, unknown>>
}

export function objectsIn(text: string): readonly RenderedObject[] {
  const objects: readonly (RenderedObject | null)[] = parseAllYaml(text)
  return objects.filter((object) => object !== null)
}

/** The rules that an account has by the bindings among `objects`, each with where it counts: a namespace, or everywhere. */
export function rulesOf(
  objects: readonly RenderedObject[],
  account: string,
): readonly { readonly where: string; readonly rule: Rule }[] {
  const bindings = objects.filter(({ subjects = [] }) =>
    subjects.some(({ name }) => name === account),
  )
  return bindings.flatMap(({ kind, metadata, roleRef }) => {
    const role = objects.find(
      (object) =>
        object.kind === roleRef?.kind &&
        object.metadata.name === roleRef.name &&
        (object.kind === 'ClusterRole' || object.metadata.namespace === metadata.namespace),
    )
    const where = kind === 'ClusterRoleBinding' ? 'everywhere' : (metadata.namespace ?? '')
    return (role?.rules ?? []).map((rule) => ({ where, rule }))
  })
}

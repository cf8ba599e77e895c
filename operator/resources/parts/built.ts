// Objects as they are sent to the API server: nobody changes one after it was built.

/** A Kubernetes object of the client's types, read-only through and through. */
export type Built<Value> = Value extends readonly (infer Item)[]
  ? readonly Built<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: Built<Value[Key]> }
    : Value

/** What every object has. */
export interface BuiltObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly labels: Readonly<Record<string, string>>
  }
}

type Present<Fields> = { readonly [Key in keyof Fields]?: Exclude<Fields[Key], undefined> }

/** The fields that have a value: Kubernetes takes null and undefined for other things than "absent". */
export function present<Fields extends object>(fields: Fields): Present<Fields> {
  const given: object = Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  )
  return isPresent<Fields>(given) ? given : {}
}

function isPresent<Fields>(fields: object): fields is Present<Fields> {
  return Object.values(fields).every((value) => value !== undefined)
}

/** Names in the order of their code units, so that equal maps have equal bytes. */
export function sorted<Value>(
  map: Readonly<Record<string, Value>>,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(
    Object.entries(map).toSorted(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)),
  )
}

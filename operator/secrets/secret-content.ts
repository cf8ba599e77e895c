import { isJsonRecord, isText } from '../../lib/json-record.ts'
import type { ObjectRef, ResourceKind, StoredObject } from '../runtime/api/api-object.ts'

export const SECRETS: ResourceKind = {
  group: '',
  version: 'v1',
  plural: 'secrets',
  kind: 'Secret',
  namespaced: true,
}

/** The values of a Secret by their keys. */
export type SecretContent = ReadonlyMap<string, Buffer>

/** What the Secret holds; nothing without one. */
export function contentOf(secret: StoredObject | undefined): SecretContent {
  return new Map(
    Object.entries(dataOf(secret)).map(([key, value]) => [key, Buffer.from(value, 'base64')]),
  )
}

/** The values as the API has them, in base64. */
export function dataOf(secret: object | undefined): Readonly<Record<string, string>> {
  const data = isJsonRecord(secret) ? secret['data'] : undefined
  if (!isJsonRecord(data)) return {}
  return Object.fromEntries(
    Object.entries(data).flatMap(([key, value]) => (isText(value) ? [[key, value]] : [])),
  )
}

/** Empty for an absent key. */
export function textOf(content: SecretContent, key: string): string {
  return content.get(key)?.toString('utf8') ?? ''
}

export function secretRef(namespace: string, name: string): ObjectRef {
  return { kind: SECRETS, namespace, name }
}

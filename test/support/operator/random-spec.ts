// Random specs of clusters, made from the schema of the kind, so that a new field is in them by itself. What the
// schema's rules refuse is repaired: the rules are in a language that only the API server speaks.

import * as fc from 'fast-check'
import { spec as specSchema } from '../../../operator/kinds/cluster/spec.ts'
import type { StoreClusterSpec } from '../../../operator/kinds/cluster/spec.ts'
import { specOf } from './cluster-inputs.ts'

const ITEMS_MAX = 3
const LABEL_MAX = 63

interface JsonSchema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: JsonSchema
  readonly items?: JsonSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-list-map-keys'?: readonly string[]
  readonly 'x-kubernetes-list-type'?: string
}

/** Options of the servers, some of which a random spec has. */
const NODE_OPTIONS = {
  check_interval_ms: 60_000,
  media_private: true,
  cors_origins: '*',
  host: 'x',
}
const INFERENCE_OPTIONS = { request_timeout_ms: 1000, workers: 2, models_dir: 'x' }

/** Specs that the API server accepts, with its defaults. */
export function randomSpec(): fc.Arbitrary<StoreClusterSpec> {
  const schema: JsonSchema = JSON.parse(JSON.stringify(specSchema))
  return fc
    .record({
      written: valueOf(schema),
      config: fc.subarray(Object.entries(NODE_OPTIONS)),
      inferenceConfig: fc.subarray(Object.entries(INFERENCE_OPTIONS)),
    })
    .map(({ written, config, inferenceConfig }) => {
      const spec = repair(fieldsOf(structuredClone(written)))
      const inference = {
        ...fieldsOf(spec['inference']),
        config: Object.fromEntries(inferenceConfig),
      }
      return specOf({ ...spec, config: Object.fromEntries(config), inference })
    })
}

function valueOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema['x-kubernetes-int-or-string'] === true) return fc.integer({ min: 1, max: 9 })
  switch (schema.type ?? '') {
    case 'object':
      return objectOf(schema)
    case 'array':
      return listOf(schema)
    case 'integer':
      return fc.integer({ min: schema.minimum ?? 0, max: Math.min(schema.maximum ?? 9, 1e9) })
    case 'boolean':
      return fc.boolean()
    case 'string':
      return textOf(schema)
    default:
      throw new RangeError(`no random value for ${JSON.stringify(schema)}`)
  }
}

function objectOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { properties, required = [], additionalProperties } = schema
  if (properties === undefined) {
    const isLabel = additionalProperties?.maxLength === LABEL_MAX
    const value = isLabel
      ? fc.stringMatching(/^[a-z0-9]{0,20}$/)
      : valueOf(additionalProperties ?? { type: 'string', maxLength: 9 })
    return fc.dictionary(fc.stringMatching(/^[a-z]([a-z-]{0,20}[a-z])?$/), value, {
      maxKeys: ITEMS_MAX,
    })
  }
  const fields = Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [name, valueOf(each)]),
  )
  return fc.record(fields, { requiredKeys: [...required], noNullPrototype: true })
}

function listOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { items = { type: 'string' }, minItems = 0, maxItems = ITEMS_MAX } = schema
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const isDistinct = keys.length > 0 || schema['x-kubernetes-list-type'] === 'set'
  const limits = { minLength: minItems, maxLength: Math.min(maxItems, ITEMS_MAX) }
  if (!isDistinct) return fc.array(valueOf(items), limits)
  const selector = (item: unknown): string =>
    JSON.stringify(keys.length === 0 ? item : keys.map((key) => fieldsOf(item)[key]))
  return fc.uniqueArray(valueOf(items), { ...limits, selector })
}

function textOf({
  pattern,
  format,
  minLength = 0,
  maxLength = 20,
}: JsonSchema): fc.Arbitrary<string> {
  if (format === 'date-time') return fc.constant('2026-11-27T02:00:00Z')
  const length = Math.min(maxLength, 40)
  if (pattern === undefined) return fc.string({ minLength, maxLength: Math.max(minLength, length) })
  return fc
    .stringMatching(new RegExp(pattern.replaceAll(/(?<=\])[*+](?=\$|\/|\))/g, '{1,9}')))
    .filter((text) => text.length >= minLength && text.length <= maxLength)
}

type Fields = Record<string, unknown>

/** The fields of an object, which may be changed; none for what is not an object. */
function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

/** Makes what the rules of the kind ask for, in the words of operator/kinds/cluster. */
function repair(spec: Fields): Fields {
  if (spec['mode'] === 'SingleNode') {
    fieldsOf(spec['nodes'])['replicas'] = 1
    delete spec['etcd']
  }
  repairEtcd(fieldsOf(spec['etcd']))
  repairInference(fieldsOf(spec['inference']))
  const account = fieldsOf(spec['serviceAccount'])
  if (account['name'] !== undefined) delete account['annotations']
  // People may ask for more than the restricted level: their pods then are what they asked for.
  delete spec['podSecurityContext']
  delete spec['containerSecurityContext']
  return spec
}

function repairEtcd(etcd: Fields): void {
  if (etcd['mode'] === 'External') {
    etcd['endpoints'] = ['https://etcd.example:2379', 'https://[2001:db8::1]:12379']
    delete etcd['image']
    delete etcd['resources']
    return
  }
  for (const field of ['endpoints', 'tlsSecretRef', 'credentialsSecretRef']) delete etcd[field]
}

function repairInference(inference: Fields): void {
  if (inference['enabled'] !== false) delete inference['externalURL']
  if (inference['modelVolume'] === undefined) {
    delete inference['models']
    return
  }
  const volume = fieldsOf(inference['modelVolume'])
  if (volume['type'] === 'ExistingClaim') volume['claimName'] = 'models'
  else delete volume['claimName']
  if (volume['type'] === 'GeneratedClaim') volume['size'] = '1Gi'
  else delete volume['storageClassName']
}

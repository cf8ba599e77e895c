import { expect } from 'chai'
import {
  CONDITION_REASONS,
  isKnownCondition,
} from '../../../../../operator/kinds/cluster/conditions.ts'
import { NAME_LENGTH_MAX } from '../../../../../operator/kinds/cluster/spec-rules.ts'
import {
  CLEANUP_FINALIZER,
  STORE_CLUSTER,
  STORE_CLUSTER_ANNOTATIONS,
  storeCluster,
} from '../../../../../operator/kinds/cluster/store-cluster.ts'

/** The keywords of a schema that this test looks at. */
interface Schema {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema
  readonly enum?: readonly unknown[]
  readonly maxLength?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-list-type'?: string
}

interface Field {
  readonly path: string
  readonly schema: Schema
}

function fieldsOf(schema: Schema, path: string): Field[] {
  const below = [
    ...Object.entries(schema.properties ?? {}).map(
      ([name, field]) => [`${path}.${name}`, field] as const,
    ),
    ...(schema.items === undefined ? [] : [[`${path}[]`, schema.items] as const]),
    ...(schema.additionalProperties === undefined
      ? []
      : [[`${path}{}`, schema.additionalProperties] as const]),
  ]
  return [{ path, schema }, ...below.flatMap(([name, field]) => fieldsOf(field, name))]
}

const schemaAsJson: Schema = JSON.parse(JSON.stringify(storeCluster))
const fields = fieldsOf(schemaAsJson, 'cluster')
const where = (isWrong: (schema: Schema) => boolean) =>
  fields.filter(({ schema }) => isWrong(schema)).map(({ path }) => path)

function isBoundless(schema: Schema): boolean {
  if (schema.enum !== undefined) return false
  if (schema['x-kubernetes-int-or-string'] === true) return schema.maxLength === undefined
  switch (schema.type) {
    case 'string':
      return schema.maxLength === undefined
    case 'array':
      return schema.maxItems === undefined
    case 'integer':
      return schema.minimum === undefined || schema.maximum === undefined
    case 'object':
      return schema.additionalProperties !== undefined && schema.maxProperties === undefined
    case undefined:
    default:
      return schema.type !== 'boolean'
  }
}

describe('fields of a StoreCluster', () => {
  it('are described by a sentence', () => {
    const mute = fields.filter(
      ({ path, schema }) => !path.endsWith('{}') && !/^[A-Z][^]*\.$/.test(schema.description ?? ''),
    )

    expect(mute.map(({ path }) => path)).to.deep.equal([])
  })

  it('have limits, for the cost of rules is reckoned from them', () => {
    const boundless = where(isBoundless)

    expect(boundless).to.deep.equal([])
  })

  it('have enumerated values in PascalCase', () => {
    const odd = fields.flatMap(({ path, schema }) =>
      (schema.enum ?? [])
        .filter((value) => typeof value === 'string' && !/^[A-Z][A-Za-z]*$/.test(value))
        .map((value) => `${path}: ${String(value)}`),
    )

    expect(odd).to.deep.equal([])
  })

  it('say of each list how parties share it', () => {
    expect(
      where((schema) => schema.type === 'array' && schema['x-kubernetes-list-type'] === undefined),
    ).to.deep.equal([])
  })
})

describe('names of a StoreCluster', () => {
  it('are of its group', () => {
    const names = [...Object.values(STORE_CLUSTER_ANNOTATIONS), CLEANUP_FINALIZER]

    expect(names.every((name) => name.startsWith(`${STORE_CLUSTER.group}/`))).to.equal(true)
  })
})

describe('the name of a StoreCluster', () => {
  // The controller of StatefulSets puts the name of the set, a hyphen and a hash of 10 into a label of 63.
  it('leaves room for the names that are made of it', () => {
    const longest = NAME_LENGTH_MAX + '-node'.length

    expect(longest + 1 + 10).to.be.at.most(63)
  })
})

describe('conditions of a StoreCluster', () => {
  it('have reasons of their own type', () => {
    expect(isKnownCondition({ type: 'EtcdReady', reason: 'QuorumLost' })).to.equal(true)
    expect(isKnownCondition({ type: 'Paused', reason: 'QuorumLost' })).to.equal(false)
    expect(isKnownCondition({ type: 'constructor', reason: 'name' })).to.equal(false)
  })

  it('have types and reasons that Kubernetes allows', () => {
    const words = Object.entries(CONDITION_REASONS).flatMap(([type, reasons]) => [type, ...reasons])

    expect(words.filter((word) => !/^[A-Z][A-Za-z]{0,62}$/.test(word))).to.deep.equal([])
  })
})

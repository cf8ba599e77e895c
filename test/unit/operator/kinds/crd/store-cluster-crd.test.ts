import { expect } from 'chai'
import { INFERENCE_OPTIONS } from '../../../../../inference/config.ts'
import { fileKey } from '../../../../../lib/options.ts'
import { NODE_OPTIONS } from '../../../../../node/cluster-config.ts'
import {
  OWNED_INFERENCE_OPTIONS,
  OWNED_NODE_OPTIONS,
} from '../../../../../operator/kinds/cluster/owned-names.ts'
import { buildDeletionPolicy } from '../../../../../operator/kinds/crd/deletion-policy.ts'
import { fieldRows } from '../../../../../operator/kinds/crd/field-table.ts'
import {
  buildStoreClusterCrd,
  storeClusterSchema,
} from '../../../../../operator/kinds/crd/store-cluster-crd.ts'
import { rulesOf, schemaFields } from '../../../../../operator/kinds/crd/structural-schema.ts'
import type {
  SchemaField,
  StructuralSchema,
} from '../../../../../operator/kinds/crd/structural-schema.ts'
import { RULES } from '../../../../../operator/kinds/schema/fields.ts'

/** What an annotation may have, in which a client-side apply keeps the object that it applied. */
const ANNOTATION_BYTES_MAX = 262_144

const root = storeClusterSchema()
const fields = schemaFields(root)
const paths = new Set(fields.map(({ path }) => path))
const pathsWhere = (isWrong: (field: SchemaField) => boolean) =>
  fields.filter(isWrong).map(({ path }) => path)

/** The schema of a field, and of each object around it, from the outermost. */
function around(path: string): readonly SchemaField[] {
  return fields.filter((field) => path === field.path || path.startsWith(`${field.path}.`))
}

/** Whether every object that the API server stores has the field, as long as it has a spec. */
function isAlwaysThere(path: string): boolean {
  return around(path).every(
    (field) => field.isRequired || field.schema.default !== undefined || field.path === 'spec',
  )
}

describe('the definition of StoreCluster', () => {
  it('has a structural schema: each field has a type of its own', () => {
    const untyped = pathsWhere(
      ({ schema }) => schema.type === undefined && schema['x-kubernetes-int-or-string'] !== true,
    )

    expect(untyped).to.deep.equal([])
  })

  it('has keys of lists that every item has', () => {
    const keyless = pathsWhere(({ schema }) => {
      const keys = schema['x-kubernetes-list-map-keys'] ?? []
      return keys.some((key) => schema.items?.required?.includes(key) !== true)
    })

    expect(keyless).to.deep.equal([])
  })

  it('has defaults that its own limits allow', () => {
    const odd = pathsWhere(({ schema }) => !isAllowed(schema))

    expect(odd).to.deep.equal([])
  })

  it('requires nothing that has a default', () => {
    expect(
      pathsWhere(({ schema, isRequired }) => isRequired && schema.default !== undefined),
    ).to.deep.equal([])
  })

  it('has rules that say which field is wrong', () => {
    const messages = rulesOf(root).map(({ message }) => message)
    const named = messages.map((message) => /^[A-Za-z0-9_.]+/.exec(message)?.[0] ?? '')

    expect(named.filter((path) => !paths.has(path) && path !== 'metadata.name')).to.deep.equal([])
    expect(messages.length).to.equal(new Set(messages).size)
  })

  // A rule that compares with the past is not asked when its field appears or disappears.
  it('compares with the past only where a field is always there', () => {
    const blind = pathsWhere(
      ({ path, schema }) =>
        (schema[RULES] ?? []).some(({ rule }) => rule.includes('oldSelf')) && !isAlwaysThere(path),
    )

    expect(blind).to.deep.equal([])
  })

  it('refuses options that the servers have, and only those', () => {
    expect(fileKeys(NODE_OPTIONS)).to.include.members(Object.keys(OWNED_NODE_OPTIONS))
    expect(fileKeys(INFERENCE_OPTIONS)).to.include.members(Object.keys(OWNED_INFERENCE_OPTIONS))
  })

  it('fits what clients keep of it when they apply it themselves', () => {
    expect(JSON.stringify(buildStoreClusterCrd()).length).to.be.below(ANNOTATION_BYTES_MAX)
  })

  it('scales by fields that it has', () => {
    const [version] = buildStoreClusterCrd().spec.versions
    const { specReplicasPath, statusReplicasPath, labelSelectorPath } = version!.subresources.scale

    for (const path of [specReplicasPath, statusReplicasPath, labelSelectorPath]) {
      expect(paths.has(path.slice(1)), path).to.equal(true)
    }
  })

  it('shows columns of fields that it has', () => {
    const [version] = buildStoreClusterCrd().spec.versions
    const shown = version!.additionalPrinterColumns
      .map(({ jsonPath }) => jsonPath.slice(1).replace(/\[(?:\*|\?.*)\]/, '[]'))
      .filter((path) => !path.startsWith('metadata.'))

    expect(shown.filter((path) => !paths.has(path))).to.deep.equal([])
  })

  it('is the same each time', () => {
    expect(buildStoreClusterCrd()).to.deep.equal(buildStoreClusterCrd())
  })
})

describe('rows about the fields', () => {
  it('have every field of the spec, but those inside of types of Kubernetes', () => {
    const shown = fieldRows('spec').map(([path]) => path.slice(1, -1))

    expect(shown).to.include('spec.nodes.storage.autoGrow.maxSize')
    expect(shown).to.include('spec.nodes.affinity')
    expect(shown.filter((path) => path.includes('affinity.'))).to.deep.equal([])
  })
})

describe('the policy of deletions', () => {
  it('is bound by its name', () => {
    const [policy, binding] = buildDeletionPolicy()

    expect(binding.spec.policyName).to.equal(policy.metadata.name)
  })
})

function fileKeys(options: object): readonly string[] {
  return Object.keys(options).map((name) => fileKey(name))
}

function isAllowed(schema: StructuralSchema): boolean {
  const { default: value, enum: values, minimum, maximum, pattern, properties } = schema
  if (value === undefined) return true
  if (values !== undefined) return values.some((allowed) => allowed === value)
  if (typeof value === 'number') return value >= (minimum ?? value) && value <= (maximum ?? value)
  if (typeof value === 'string') return pattern === undefined || new RegExp(pattern).test(value)
  if (typeof value === 'boolean') return schema.type === 'boolean'
  // An object that is filled in as it is empty, and then gets the defaults of its fields.
  const needed = schema.required ?? []
  return properties !== undefined && needed.length === 0
}

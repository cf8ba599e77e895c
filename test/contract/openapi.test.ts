import { readdirSync } from 'node:fs'
import path from 'node:path'
import Ajv2020 from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'chai'
import { OpenAPISchemaValidator } from 'express-openapi-validator/dist/framework/openapi.schema.validator.js'
import { OPERATIONS as INFERENCE_OPERATIONS } from '../../inference/api/server/handler-table.ts'
import { statusByErrorCode } from '../../lib/http/error-status.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { loadContract } from '../../door/contract.ts'
import type { ContractName } from '../../door/contract.ts'
import { OPERATIONS } from '../../node/api/server/handler-table.ts'
import { brokenRules } from './contract-rules.ts'

interface Service {
  readonly contract: ContractName
  readonly handlersFolder: string
  readonly operations: Readonly<Record<string, unknown>>
  /** Codes that the service never answers with. */
  readonly unusedCodes: readonly string[]
}

const SERVICES: readonly Service[] = [
  {
    contract: 'store.v1',
    handlersFolder: 'node/api/handlers',
    operations: OPERATIONS,
    unusedCodes: [],
  },
  {
    contract: 'inference.v1',
    handlersFolder: 'inference/api/handlers',
    operations: INFERENCE_OPERATIONS,
    unusedCodes: [
      'ALREADY_EXISTS',
      'CONFLICT',
      'IDEMPOTENCY_MISMATCH',
      'CORRUPTION',
      'DISK_FULL',
      'NOT_LEADER',
      'TOO_FEW_IN_SYNC',
      'RANGE_MOVED',
      'HISTORY_GONE',
    ],
  },
]

/**
 * A member that nobody knows, a page of another site, a request that never ends, an expectation, headers
 * that are too long.
 */
const ANY_OPERATION = ['400', '403', '408', '417', '431'] as const
/** A body that is too long, of another type, or more than there is room for. */
const WITH_BODY = ['413', '415', '503'] as const

interface Example {
  readonly place: string
  readonly schema: string
  readonly value: unknown
}

for (const service of SERVICES) describeContract(service)

function describeContract(service: Service): void {
  const { document, operations } = loadContract(service.contract)
  const operationIds = operations.map(({ operationId }) => operationId).toSorted()
  describe(`openapi/${service.contract}.yaml`, () => {
    const ajv = addFormats.default(new Ajv2020.default({ strict: false, allErrors: true }))
    ajv.addSchema(document, 'contract')

    it('holds plain JSON: no dates, no bytes', () => {
      expect(JSON.parse(JSON.stringify(document))).to.deep.equal(document)
    })

    it('is valid OpenAPI', () => {
      const { openapi: version } = document
      const validator = new OpenAPISchemaValidator({ version, validateApiSpec: true })

      expect(validator.validate(JSON.parse(JSON.stringify(document))).errors ?? []).to.deep.equal(
        [],
      )
    })

    it('has only members that OpenAPI knows, and arrays of described items', () => {
      expect(brokenRules(document)).to.deep.equal([])
    })

    it('names each operation once', () => {
      expect(new Set(operationIds).size).to.equal(operationIds.length)
    })

    it('has one handler file for each operation', () => {
      const folder = path.resolve(import.meta.dirname, '../..', service.handlersFolder)
      const files = readdirSync(folder).map((file) => path.basename(file, '.ts'))
      expect(files.toSorted()).to.deep.equal(operationIds.map(kebab).toSorted())
    })

    it('has one handler for each operation', () => {
      expect(Object.keys(service.operations).toSorted()).to.deep.equal(operationIds)
    })

    it('resolves every reference', () => {
      const missing = referencesOf(document).filter((reference) => {
        const steps = reference.slice(2).split('/')
        return steps.reduce<unknown>((at, step) => memberOf(at, step), document) === undefined
      })
      expect(missing).to.deep.equal([])
    })

    it('documents every error code with its status', () => {
      const documented = memberOf(
        memberOf(memberOf(document, 'components'), 'schemas'),
        'ErrorCode',
      )
      const statuses = Object.entries(statusByErrorCode).filter(
        ([code]) => !service.unusedCodes.includes(code),
      )
      expect(memberOf(documented, 'enum')).to.have.members(statuses.map(([code]) => code))
      const text = String(memberOf(document.info, 'description'))
      for (const [code, status] of statuses) {
        expect(text).to.include(`| \`${code}\` | ${status} |`)
      }
    })

    it('lists for every operation the statuses that any operation may answer', () => {
      const silent = operations.filter(({ method, template, body }) => {
        const operation = memberOf(document.paths[template], method.toLowerCase())
        const answers = Object.keys(Object(memberOf(operation, 'responses')))
        const possible = body === 'none' ? ANY_OPERATION : [...ANY_OPERATION, ...WITH_BODY]
        // What may be unavailable because another node does not answer may also answer too late.
        const isLate = service.contract === 'store.v1' && answers.includes('503')
        return [...possible, ...(isLate ? ['504'] : [])].some((status) => !answers.includes(status))
      })
      expect(silent.map(({ operationId }) => operationId)).to.deep.equal([])
    })

    it('gives every JSON body an example', () => {
      const bare = mediaTypesOf(document).filter(({ value }) => examplesIn(value).length === 0)
      expect(bare.map(({ place }) => place)).to.deep.equal([])
    })

    it('describes every operation', () => {
      for (const { method, template } of operations) {
        const operation = memberOf(document.paths[template], method.toLowerCase())
        expect(String(memberOf(operation, 'description')).length).to.be.greaterThan(20)
        expect(String(memberOf(operation, 'summary')).length).to.be.greaterThan(5)
      }
    })

    for (const { place, schema, value } of examplesOf(document)) {
      it(`has a valid example at ${place}`, () => {
        const validate = ajv.compile({ $ref: `contract#${schema}` })
        expect(validate(value), JSON.stringify(validate.errors)).to.equal(true)
      })
    }
  })
}

function kebab(operationId: string): string {
  return operationId.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

function memberOf(value: unknown, name: string): unknown {
  return isJsonRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function walk(value: unknown, place: string, visit: (object: JsonRecord, place: string) => void) {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) walk(item, `${place}/${i}`, visit)
  }
  if (!isJsonRecord(value)) return
  visit(value, place)
  for (const [name, member] of Object.entries(value)) {
    walk(member, `${place}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, visit)
  }
}

function referencesOf(root: unknown): string[] {
  const found: string[] = []
  walk(root, '', ({ $ref }) => {
    if (typeof $ref === 'string') found.push($ref)
  })
  return found
}

/** Everything with a schema below `content`. */
function mediaTypesOf(root: unknown): { place: string; value: JsonRecord }[] {
  const found: { place: string; value: JsonRecord }[] = []
  walk(root, '', ({ content }, place) => {
    // A schema may have a property of this name, too.
    if (!isJsonRecord(content) || place.endsWith('/properties')) return
    for (const [type, value] of Object.entries(content)) {
      if (!isJsonRecord(value)) continue
      found.push({ place: `${place}/content/${type.replaceAll('/', '~1')}`, value })
    }
  })
  return found
}

function examplesIn(media: JsonRecord): readonly unknown[] {
  const many = isJsonRecord(media['examples']) ? Object.values(media['examples']) : []
  const single = media['example'] === undefined ? [] : [media['example']]
  return [...single, ...many.map((example) => memberOf(example, 'value'))]
}

function examplesOf(root: unknown): Example[] {
  const bodies = mediaTypesOf(root).flatMap(({ place, value }) =>
    examplesIn(value).map((example) => ({ place, schema: `${place}/schema`, value: example })),
  )
  const parameters: Example[] = []
  walk(root, '', (object, place) => {
    const isParameter = object['schema'] !== undefined && !place.includes('/content/')
    if (!isParameter || object['example'] === undefined) return
    parameters.push({ place, schema: `${place}/schema`, value: object['example'] })
  })
  // A pointer in a URI fragment is percent-encoded where it holds braces.
  return [...bodies, ...parameters].map((one) => ({ ...one, schema: encodeURI(one.schema) }))
}

import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { assert, json, property, uint8Array } from 'fast-check'
import { ServiceError } from '../../../../../lib/errors.ts'
import {
  decodeAnswer,
  decodeRequest,
  decodeTold,
  encodeAnswer,
  encodeRequest,
  encodeTold,
  type ControllerAnswer,
  type ControllerRequest,
} from '../../../../../node/controller/shell/controller-requests.ts'
import type { NodeTold } from '../../../../../node/controller/shell/node-told.ts'

const GOLDEN: Readonly<Record<string, string>> = JSON.parse(
  readFileSync('test/golden/controller-calls.json', 'utf8'),
)

const REQUESTS: Readonly<Record<ControllerRequest['kind'], ControllerRequest>> = {
  report: { kind: 'report' },
  shards: {
    kind: 'shards',
    query: { tableId: 't', trouble: 'any', path: 't/s', after: 't/r', limit: 7 },
  },
  move: { kind: 'move', path: 't/s', from: 'n1', to: 'n2' },
  transfer: { kind: 'transfer', path: 't/s', to: 'n2' },
}

const ANSWERS: Readonly<Record<'accepted' | 'refused', ControllerAnswer>> = {
  accepted: { kind: 'accepted' },
  refused: { kind: 'refused', reason: 'busy' },
}

const TOLD: Readonly<Record<'sizes' | 'disk', NodeTold>> = {
  sizes: { sizes: [{ path: 't/s', bytes: 7 }] },
  disk: {
    sizes: [],
    disk: { node: 'n1', disk: { totalBytes: 107_374_182_400, freeBytes: 66_571_993_088 } },
  },
}

describe('the calls of the controller', () => {
  it('are written and read as the golden file has them', () => {
    for (const [name, request] of Object.entries(REQUESTS)) {
      expect(encodeRequest(request).toString()).to.equal(GOLDEN[name])
      expect(decodeRequest(Buffer.from(GOLDEN[name] ?? ''))).to.deep.equal(request)
    }
    for (const [name, answer] of Object.entries(ANSWERS)) {
      expect(encodeAnswer(answer).toString()).to.equal(GOLDEN[name])
      expect(decodeAnswer(Buffer.from(GOLDEN[name] ?? ''))).to.deep.equal(answer)
    }
    for (const [name, told] of Object.entries(TOLD)) {
      expect(encodeTold(told).toString()).to.equal(GOLDEN[name])
      expect(decodeTold(Buffer.from(GOLDEN[name] ?? ''))).to.deep.equal(told)
    }
  })

  it('are refused when they are anything else', () => {
    const broken = [
      '',
      'null',
      '[]',
      '{"kind":"stop"}',
      '{"kind":"move","path":"t/s","from":"n1"}',
      '{"kind":"transfer","path":"","to":"n2"}',
      `{"kind":"transfer","path":"t/s","to":"${'n'.repeat(1025)}"}`,
      '{"kind":"transfer","path":["t/s"],"to":"n2"}',
      '{"kind":"shards"}',
      '{"kind":"shards","query":{}}',
      '{"kind":"shards","query":{"limit":10001}}',
      '{"kind":"shards","query":{"limit":1,"trouble":"none"}}',
      '{"kind":"shards","query":{"limit":1,"after":7}}',
    ]
    for (const text of broken) {
      expect(
        refuses(() => decodeRequest(Buffer.from(text))),
        text,
      ).to.equal(true)
    }
    for (const text of [
      '{}',
      '{"sizes":[7]}',
      '{"sizes":[["t/s",-1]]}',
      '{"sizes":[["t/s",1.5]]}',
      '{"disk":["n1",2,1]}',
      '{"sizes":[],"disk":{}}',
      '{"sizes":[],"disk":["",2,1]}',
      '{"sizes":[],"disk":["n1",2]}',
      '{"sizes":[],"disk":["n1",2,-1]}',
      '{"sizes":[],"disk":["n1",2.5,1]}',
      '{"sizes":[],"disk":null}',
    ]) {
      expect(
        refuses(() => decodeTold(Buffer.from(text))),
        text,
      ).to.equal(true)
    }
    assert(
      property(json(), (text) => {
        const read = (): unknown => decodeRequest(Buffer.from(text))
        return refuses(read) || Object.hasOwn(REQUESTS, String(JSON.parse(text).kind))
      }),
    )
    assert(property(uint8Array(), (bytes) => refuses(() => decodeRequest(Buffer.from(bytes)))))
  })
})

function refuses(read: () => unknown): boolean {
  try {
    read()
    return false
  } catch (error) {
    return error instanceof ServiceError && error.code === 'INVALID_ARGUMENT'
  }
}

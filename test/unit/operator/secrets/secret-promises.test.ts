import { must } from '../../../../lib/assert.ts'
import { readSecrets } from '../../../../operator/secrets/read-secrets.ts'
import { writeSecrets } from '../../../../operator/secrets/write-secrets.ts'
import { errorOf } from '../../../support/error-of.ts'
import { SECRET_PROMISES } from '../../../support/operator/secret-promises.ts'
import type { SecretFunctions } from '../../../support/operator/secret-world.ts'
import { plantCopy } from '../../../support/simulation/planted-copy.ts'
import type { Defect } from '../../../support/simulation/planted-copy.ts'

const SECRETS = 'operator/secrets'
const LINKED = ['certificates', 'kinds', 'machines', 'resources', 'runtime'].map(
  (name) => `operator/${name}`,
)

interface PlantedDefect extends Defect {
  readonly breaks: string
}

/** The promise must find each of these. */
const DEFECTS: Readonly<Record<string, PlantedDefect>> = {
  'a cluster secret that is made anew': {
    breaks: 'a cluster secret that is there is never replaced (SW1)',
    file: 'write-secrets.ts',
    text: 'patch: isThere ? {} : built.data',
    instead: 'patch: built.data',
  },
  'a cluster secret that is made anew under nodes that run': {
    breaks: 'a cluster secret that nodes have started with is not made anew (SW1)',
    file: 'read-secrets.ts',
    text: 'return (status?.nodes?.desired ?? 0) > 0',
    instead: 'return (status?.nodes?.desired ?? 0) > 99',
  },
  'certificates before their authority': {
    breaks: 'authorities are written before what they sign (SW2)',
    file: 'write-secrets.ts',
    text: 'await writer.write(authority, {',
    instead:
      'await writer.write(shown, { built: builtShown, patch: {} })\n  await writer.write(authority, {',
  },
  'a write without the version that was read': {
    breaks: 'nothing is written over a version that was not read (SW3)',
    file: 'write-secrets.ts',
    text: '        resourceVersion,\n',
    instead: '',
  },
  'a write over anybody’s Secret': {
    breaks: 'nothing is written over a Secret that is not the cluster’s (SW3)',
    file: 'own-secrets.ts',
    text: 'holds(labels, own.labels) : owner.uid === uid',
    instead: 'true : owner.uid === uid',
  },
  'a refusal that repeats what was sent': {
    breaks: 'no refusal tells what would have been written, or what is there (SW4)',
    file: 'secret-refusals.ts',
    text: 'new ApiError(redacted(error.message, values), {',
    instead: 'new ApiError(error.message, {',
  },
  'a refusal that knows only what is sent': {
    breaks: 'no refusal tells what would have been written, or what is there (SW4)',
    file: 'write-secrets.ts',
    text: 'await withoutContent([built, live], () =>',
    instead: 'await withoutContent([built], () =>',
  },
  'Secrets that an earlier cluster has left, taken for another’s': {
    breaks: 'what a new cluster of the name finds is what the earlier one has left',
    file: 'own-secrets.ts',
    text: 'return owner === undefined ? holds(labels, own.labels) : owner.uid === uid',
    instead: 'return owner !== undefined && owner.uid === uid',
  },
  'a hash over certificates': {
    breaks: 'a certificate that is renewed restarts nobody',
    file: 'read-secrets.ts',
    text: "authorityHash: digestOf(trusted === '' ? wished : trusted),",
    instead: "authorityHash: digestOf(textOf(shown, 'server.crt')),",
  },
  'authorities that are forgotten with their keys': {
    breaks: 'a lost authority stays trusted by those who run',
    file: 'own-secrets.ts',
    text: 'former: trusted.map((certificate) => `${certificate}\\n`).filter((one) => !known.has(one)),',
    instead: 'former: known.size > 99 ? trusted : [],',
  },
}

describe('the Secrets that the operator makes', () => {
  for (const [promise, check] of Object.entries(SECRET_PROMISES)) {
    it(`keep the promise: ${promise}`, () => check({ readSecrets, writeSecrets }))
  }
})

describe('the promises of Secrets', () => {
  for (const [name, defect] of Object.entries(DEFECTS)) {
    it(`find ${name}`, async () => {
      const folders = { copied: [SECRETS], linked: [...LINKED, 'lib'] }
      const load = plantCopy(folders, defect)
      const { readSecrets: read } = await load<SecretFunctions>(`${SECRETS}/read-secrets.ts`)
      const { writeSecrets: write } = await load<SecretFunctions>(`${SECRETS}/write-secrets.ts`)
      const functions = { readSecrets: read, writeSecrets: write }

      const check = must(SECRET_PROMISES[defect.breaks], defect.breaks)

      await errorOf(() => check(functions))
    })
  }
})

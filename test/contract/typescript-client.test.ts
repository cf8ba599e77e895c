import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { CONTRACTS, generateTypes, typesFileOf } from '../../clients/typescript/generate.ts'
import { InferenceClient } from '../../clients/typescript/src/inference-client.ts'
import { StoreClient } from '../../clients/typescript/src/store-client.ts'
import { loadContract } from '../../door/contract.ts'

/** Pages are for people, and other clients speak the shapes of OpenAI and Ollama. */
const NOT_FOR_US: Readonly<Record<(typeof CONTRACTS)[number], readonly string[]>> = {
  'store.v1': ['getDocs'],
  'inference.v1': [
    'getDocs',
    'chat',
    'embedPrompt',
    'listTags',
    'listLoadedModels',
    'showModel',
    'listOpenaiModels',
    'getOpenaiModel',
    'createEmbeddings',
    'createChatCompletion',
  ],
}
/** Methods that are another form of an operation. */
const FORMS: ReadonlySet<string> = new Set(['generatePieces'])

describe('the TypeScript client', () => {
  for (const contract of CONTRACTS) {
    it(`has the types of ${contract} as it is: npm run generate in clients/typescript`, async () => {
      const committed = readFileSync(typesFileOf(contract), 'utf8')
      expect(committed === (await generateTypes(contract))).to.equal(true)
    })
  }

  const prototypes = { 'store.v1': StoreClient, 'inference.v1': InferenceClient }
  for (const contract of CONTRACTS) {
    it(`has a method for each operation of ${contract}`, () => {
      const { operations } = loadContract(contract)
      const expected = operations
        .map(({ operationId }) => operationId)
        .filter((id) => !NOT_FOR_US[contract].includes(id))

      const methods = Object.getOwnPropertyNames(prototypes[contract].prototype).filter(
        (name) => name !== 'constructor' && !FORMS.has(name),
      )

      expect(methods).to.have.members(expected)
    })
  }
})

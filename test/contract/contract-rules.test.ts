import { expect } from 'chai'
import { brokenRules } from './contract-rules.ts'
import { parseYaml } from '../support/yaml.ts'

const CASES: Readonly<Record<string, { readonly yaml: string; readonly broken: string }>> = {
  'a comma that cuts a description off': {
    yaml: `{ components: { schemas: { Hit: { type: string, description: of search, or not } } } }`,
    broken: '#/components/schemas/Hit: a schema has no "or not"',
  },
  'such a comma in a parameter': {
    yaml: `{ components: { parameters: { A: { name: a, in: query, description: x, y } } } }`,
    broken: '#/components/parameters/A: a parameter has no "y"',
  },
  'such a comma in a response': {
    yaml: `{ components: { responses: { A: { description: x, y } } } }`,
    broken: '#/components/responses/A: a response has no "y"',
  },
  'an array without items': {
    yaml: `{ components: { schemas: { A: { properties: { b: { type: [array, 'null'] } } } } } }`,
    broken: '#/components/schemas/A/properties/b: an array says what its items are',
  },
  'parameters of a path': {
    yaml: `{ paths: { /a: { parameters: [{ $ref: '#/components/parameters/A' }] } } }`,
    broken: '#/paths//a: a path has no "parameters"',
  },
  'a schema below a media type': {
    yaml: `{ paths: { /a: { post: { requestBody: { content: { x/y: { schema: { a: 1 } } } } } } } }`,
    broken: '#/paths//a/post/requestBody/content/x/y/schema: a schema has no "a"',
  },
  'a member beside a reference': {
    yaml: `{ paths: { /a: { get: { responses: { '200': { $ref: '#/b', content: {} } } } } } }`,
    broken: '#/paths//a/get/responses/200: a reference has no "content"',
  },
}

describe('the rules of contracts', () => {
  for (const [name, { yaml, broken }] of Object.entries(CASES)) {
    it(`find ${name}`, () => {
      expect(brokenRules(parseYaml(yaml))).to.deep.equal([broken])
    })
  }
})

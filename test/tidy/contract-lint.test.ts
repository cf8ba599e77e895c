// Both contracts under the linters that their readers use: Redocly's and Stoplight's Spectral.

import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Spectral } from '@stoplight/spectral-core'
import type { RulesetDefinition } from '@stoplight/spectral-core'
import { oas } from '@stoplight/spectral-rulesets'
import { expect } from 'chai'
import { loadContract } from '../../door/contract.ts'
import type { ContractName } from '../../door/contract.ts'

// The package's own type of it lacks what the package of the core asks for.
const OAS: RulesetDefinition = Object(oas)
const CONTRACTS: readonly ContractName[] = ['store.v1', 'inference.v1']

for (const name of CONTRACTS) {
  describe(`openapi/${name}.yaml`, () => {
    const source = loadContract(name).text.toString()

    it("passes Redocly's recommended rules", async () => {
      const config = await createConfig({ extends: ['recommended'] })

      const problems = await lintFromString({ source, absoluteRef: `${name}.yaml`, config })

      const told = problems.map(({ ruleId, message, location }) => {
        return `${ruleId} at ${location[0]?.pointer}: ${message}`
      })
      expect(told).to.deep.equal([])
    })

    it("passes Spectral's rules for OpenAPI", async () => {
      const spectral = new Spectral()
      // Nobody in particular answers for a server that everybody runs for themselves.
      spectral.setRuleset({ extends: [OAS], rules: { 'info-contact': 'off' } })

      const results = await spectral.run(source)

      const told = results.map(({ code, message, path }) => {
        return `${code} at ${path.join('/')}: ${message}`
      })
      expect(told).to.deep.equal([])
    })
  })
}

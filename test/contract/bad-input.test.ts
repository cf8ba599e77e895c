import { expect } from 'chai'
import { describeBadInput } from '../suites/bad-input.ts'
import { startApi } from './api-harness.ts'
import { BAD_CLUSTER_REQUESTS, BAD_SWARM_REQUESTS } from './bad-cluster-requests.ts'
import { BAD_REQUESTS } from './bad-requests.ts'

const SWARM = { name: 'swarm mode', open: () => startApi({ isSearched: true }) }

describeBadInput(
  SWARM,
  [BAD_REQUESTS, BAD_CLUSTER_REQUESTS, BAD_SWARM_REQUESTS],
  ({ logged }) => void expect(logged).to.deep.equal([]),
)

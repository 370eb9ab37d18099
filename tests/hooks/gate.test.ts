// The gate (hooks/gate.js) without session or network: run with `claude plugin test .`
// Each test answers in the client's and in the server's place and looks at what the gate did.
import { expect, mock, test } from 'claude-code/testing'

const STEP = { turnId: 'turn-1', index: 0, model: 'claude-opus-5', messageCount: 3, agentId: 'a0123456789abcdef' }
const USAGE = { input_tokens: 7, cache_creation_input_tokens: 100, cache_read_input_tokens: 50, output_tokens: 9 }
const ANSWERED = { ...STEP, answer: 'done', toolUses: [], stopReason: 'end_turn', usage: USAGE }
const FAILED = { ...STEP, answer: '', toolUses: [], stopReason: null, usage: null }
const SET = { CLAUDE_CODE_MAX_RETRIES: '0', CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS: '604800000' }

// A server that gives the answers in `script` by operation, in order, the last one for ever; null is a dead one,
// CLOSED what a call under way is answered with when it dies.
const CLOSED = 'Connection closed'
function server(on, script) {
  const told = []
  on('mcp.call', (_, e) => {
    const asked = e.args ?? e.input ?? e.arguments ?? e.params
    told.push(asked)
    const answers = script[asked.op] ?? [{}]
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    if (answer === null) throw new Error('no connected MCP tool')
    if (answer === CLOSED) return { value: { isError: true, content: [{ type: 'text', text: CLOSED }] } }
    return { value: { content: [{ type: 'text', text: JSON.stringify(answer) }] } }
  })
  return told
}

const isTick = e => JSON.stringify(e).includes('15000')

// A client whose requests end as `outcomes` say, in order; returns how often one was sent.
// `asleep` is what happens while the gate sleeps; null leaves the clock to the test. Answers come at once here, so
// that the clock for those that do not never ticks.
function client(on, outcomes, asleep = () => {}) {
  const sent = []
  if (asleep) on('clock.sleep', async (_, e) => ({ value: await (isTick(e) ? new Promise(() => {}) : asleep()) }))
  on('turn.step', async function* () {
    sent.push(outcomes[Math.min(sent.length, outcomes.length - 1)])
    const outcome = sent[sent.length - 1]
    if (outcome.usage || outcome.answer) yield { kind: 'text', index: 0, text: outcome.answer }
    return outcome
  })
  return sent
}

// A client whose requests end as `outcomes` say; returns the retry limit that each one read.
function reading(on, env, outcomes) {
  const during = []
  on('clock.sleep', () => ({ value: undefined }))
  on('turn.step', async function* (_, e) {
    during.push(env.CLAUDE_CODE_MAX_RETRIES)
    const outcome = outcomes[Math.min(during.length, outcomes.length) - 1]
    if (outcome.usage) yield { kind: 'text', index: 0, text: outcome.answer }
    return { ...outcome, turnId: e.turnId }
  })
  return during
}

// The session's environment.
function environment(on, variables) {
  on('env.get', (_, e) => ({ value: variables[e.name] }))
  on('env.set', (_, e) => {
    variables[e.name] = e.value
    return { value: undefined }
  })
  return variables
}

async function step($, e = STEP) {
  const chunks = []
  const steps = $.turn.step(e)
  for (;;) {
    const next = await steps.next()
    if (next.done) return { result: next.value, chunks }
    chunks.push(next.value.text)
  }
}

const ops = told => told.map(asked => asked.op)

test('a granted request goes once and is settled with its usage', async ($, on) => {
  const told = server(on, { ask: [{ id: 'r1' }] })
  const sent = client(on, [ANSWERED])
  const { result, chunks } = await step($)
  expect(sent.length).toBe(1)
  expect(chunks).toEqual(['done'])
  expect(result.usage).toEqual(USAGE)
  expect(ops(told)).toEqual(['ask', 'done'])
  expect(told[0].agent).toBe(STEP.agentId)
  expect(told[1].id).toBe('r1')
  expect(told[1].usage).toEqual(USAGE)
})

test('a request that has to wait asks again with the same call and goes when it is granted', async ($, on) => {
  const told = server(on, { ask: [{ wait: true }, { wait: true }, { id: 'r1' }] })
  const sent = client(on, [ANSWERED])
  await step($)
  expect(ops(told)).toEqual(['ask', 'ask', 'ask', 'done'])
  expect(new Set(told.slice(0, 3).map(asked => asked.call)).size).toBe(1)
  expect(sent.length).toBe(1)
})

test('a refused request is sent again when the server says so, and the agent gets the answer', async ($, on) => {
  const told = server(on, { ask: [{ id: 'r1' }, { id: 'r2' }], refused: [{ again: true }] })
  const sent = client(on, [FAILED, ANSWERED])
  const { result } = await step($)
  expect(sent.length).toBe(2)
  expect(result.answer).toBe('done')
  expect(ops(told)).toEqual(['ask', 'refused', 'ask', 'done'])
  expect(told[2].attempt).toBe(1)
})

test('what the client wrote instead of an answer is handed on, of this agent and of this attempt', async ($, on) => {
  const told = server(on, { ask: [{ id: 'r1' }, { id: 'r2' }], refused: [{ again: true }, { again: false }] })
  const row = (agentId, model, text) => $.session.append({
    message: { type: 'assistant', content: [{ type: 'text', text }] },
    door: 'response', origin: { kind: 'model', model }, uuid: text, ...(agentId && { agentId }),
  })
  on('session.append', (_, e, next) => next(e))
  let slept = 0
  client(on, [FAILED], async () => {
    if (++slept > 1) return
    await row(undefined, '<synthetic>', 'of the main thread')
    await row(STEP.agentId, '<synthetic>', 'API Error: 529 Overloaded')
    await row(STEP.agentId, 'claude-opus-5', 'API Error: 401 a model wrote this')
  })
  await step($)
  expect(told.filter(asked => asked.op === 'refused').map(asked => asked.said)).toEqual(['API Error: 529 Overloaded', ''])
})

test('a reply that broke off and came to nothing is sent again too', async ($, on) => {
  const told = server(on, { ask: [{ id: 'r1' }, { id: 'r2' }], refused: [{ again: true }] })
  const sent = client(on, [{ ...FAILED, answer: 'the begi' }, ANSWERED])
  const { result } = await step($)
  expect(sent.length).toBe(2)
  expect(result.answer).toBe('done')
  expect(ops(told)).toEqual(['ask', 'refused', 'ask', 'done'])
})

test('a refusal that waiting cannot help is passed on as it is', async ($, on) => {
  const told = server(on, { ask: [{ id: 'r1' }], refused: [{ again: false }] })
  const sent = client(on, [FAILED])
  const { result } = await step($)
  expect(sent.length).toBe(1)
  expect(result.usage).toBe(null)
  expect(ops(told)).toEqual(['ask', 'refused'])
})

test('without a server the main thread goes at once and nothing is changed', async ($, on) => {
  const env = environment(on, { CLAUDE_CODE_MAX_RETRIES: '7' })
  server(on, { ask: [null] })
  const sent = client(on, [ANSWERED])
  const { result } = await step($, { ...STEP, agentId: undefined })
  expect(sent.length).toBe(1)
  expect(result.answer).toBe('done')
  expect(env.CLAUDE_CODE_MAX_RETRIES).toBe('7')
})

test('an agent waits for a server that is still starting, a few seconds and once', async ($, on) => {
  const clock = mock.clock(on, { now: 1000 })
  const told = server(on, { ask: [null] })
  const sent = client(on, [ANSWERED], null)
  const going = step($)
  for (let i = 0; i < 12; i++) await clock.advance(500)
  await going
  const first = told.length
  expect(first > 1 && first < 12).toBe(true)
  await step($)
  expect(told.length).toBe(first + 1)
  expect(sent.length).toBe(2)
})

test('a paced request has no retries of its own, and what else asks the model keeps the session\'s', async ($, on) => {
  const env = environment(on, { CLAUDE_CODE_MAX_RETRIES: '3' })
  server(on, { ask: [{ id: 'r1', set: SET }] })
  const during = reading(on, env, [ANSWERED])
  await step($)
  expect(during).toEqual(['0'])
  expect(env.CLAUDE_CODE_MAX_RETRIES).toBe('3')
  expect(env.CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS).toBe(SET.CLAUDE_ASYNC_AGENT_STALL_TIMEOUT_MS)
})

test('while another one starts, the retries stay none; then they are the session\'s again', async ($, on) => {
  const clock = mock.clock(on, { now: 1000 })
  const env = environment(on, { CLAUDE_CODE_MAX_RETRIES: '3' })
  server(on, { ask: [{ id: 'r1', set: SET }] })
  client(on, [ANSWERED], null)
  await step($)
  await clock.advance(30)
  await step($)
  await clock.advance(30)
  expect(env.CLAUDE_CODE_MAX_RETRIES).toBe('0')
  await clock.advance(30)
  expect(env.CLAUDE_CODE_MAX_RETRIES).toBe('3')
})

test('a session that named no retries gets the client\'s own number back', async ($, on) => {
  const env = environment(on, {})
  server(on, { ask: [{ id: 'r1', set: SET }] })
  const during = reading(on, env, [ANSWERED])
  await step($)
  expect(during).toEqual(['0'])
  expect(env.CLAUDE_CODE_MAX_RETRIES).toBe('10')
})

test('with a ledger that cannot be used a request has the session\'s own retries, until it can be', async ($, on) => {
  const env = environment(on, { CLAUDE_CODE_MAX_RETRIES: '3' })
  const told = server(on, { ask: [{ id: 'r1', set: SET }, { id: '', unpaced: true }, { id: 'r3', set: SET }], refused: [{ again: true }] })
  const during = reading(on, env, [FAILED, ANSWERED])
  const { result } = await step($)
  expect(result.answer).toBe('done')
  expect(ops(told)).toEqual(['ask', 'refused', 'ask'])
  await step($)
  expect(during).toEqual(['0', '3', '0'])
})

test('when the server dies in the middle the request goes once more with the person\'s own retries', async ($, on) => {
  const env = environment(on, { CLAUDE_CODE_MAX_RETRIES: '3' })
  server(on, { ask: [{ id: 'r1', set: SET }, null], refused: [null] })
  const during = reading(on, env, [FAILED, ANSWERED])
  const { result } = await step($)
  expect(during).toEqual(['0', '3'])
  expect(result.answer).toBe('done')
})

test('who waits when the server is killed waits on with the one that is started in its place', async ($, on) => {
  const env = environment(on, { CLAUDE_CODE_MAX_RETRIES: '3' })
  const told = server(on, { ask: [{ wait: true, set: SET }, CLOSED, null, { wait: true, set: SET }, { id: 'r1' }] })
  const during = reading(on, env, [ANSWERED])
  await step($)
  expect(during).toEqual(['0'])
  expect(new Set(told.filter(asked => asked.op === 'ask').map(asked => asked.call)).size).toBe(1)
  expect(told.filter(asked => asked.op === 'done').map(asked => [asked.id, asked.agent])).toEqual([['r1', STEP.agentId]])
})

test('an attempt that is left to the client has the person\'s own retries, and no other has', async ($, on) => {
  const env = environment(on, { CLAUDE_CODE_MAX_RETRIES: '3' })
  server(on, { ask: [{ id: 'r1', set: SET }, { id: 'r2' }, { id: 'r3' }], refused: [{ again: true, own: true }, { again: true }] })
  const during = reading(on, env, [FAILED, FAILED, ANSWERED])
  const { result } = await step($)
  expect(result.answer).toBe('done')
  expect(during).toEqual(['0', '3', '0'])
})

test('a server that hangs holds nobody for long, and is not asked again at once', async ($, on) => {
  let asked = 0
  on('mcp.call', () => { asked++; return new Promise(() => {}) })
  const sent = client(on, [ANSWERED], null)
  on('clock.sleep', async () => ({ value: undefined }))
  const { result } = await step($)
  await step($)
  expect(result.answer).toBe('done')
  expect(sent.length).toBe(2)
  expect(asked).toBe(1)
})

test('a leader tells when its reply begins, before it ends', async ($, on) => {
  const told = server(on, { ask: [{ id: 'r1', tell: true }] })
  client(on, [ANSWERED])
  await step($)
  expect(ops(told)).toEqual(['ask', 'began', 'done'])
})

test('a person reads what is waited for, and the line goes when nobody waits', async ($, on) => {
  server(on, { ask: [{ wait: true, note: '3 waiting' }, { id: 'r1', note: '' }] })
  client(on, [ANSWERED])
  const lines = []
  on('ui.status', (_, e) => {
    lines.push(e.text ?? e.value ?? '')
    return { value: undefined }
  })
  await step($)
  expect(lines).toEqual(['3 waiting', ''])
})

test('a compaction keeps the person\'s own retries', async ($, on) => {
  const env = environment(on, { CLAUDE_CODE_MAX_RETRIES: '3' })
  server(on, { ask: [{ id: 'r1', set: SET }] })
  client(on, [ANSWERED])
  const during = []
  on('session.compact', () => {
    during.push(env.CLAUDE_CODE_MAX_RETRIES)
    return { skip: 'tested' }
  })
  await step($)
  env.CLAUDE_CODE_MAX_RETRIES = '0' // as while another request starts
  await $.session.compact({ trigger: 'auto', messages: [{ role: 'user', text: 'go', toolUses: [] }] })
  expect(during).toEqual(['3'])
})

test('an answer nobody can read holds nobody', async ($, on) => {
  on('mcp.call', () => ({ value: { content: [{ type: 'text', text: 'not json' }] } }))
  const sent = client(on, [ANSWERED])
  await step($, { ...STEP, agentId: undefined })
  expect(sent.length).toBe(1)
})

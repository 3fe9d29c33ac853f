import { type Adapter, jsonReply } from './adapter.ts'

/** The answers of protocols over HTTP that have none of their own: the outcome as JSON, and problem documents. */
export const problemReplies: Pick<Adapter, 'authorizationOf' | 'answer' | 'answerProblem'> = {
  authorizationOf: ({ authorization }) => authorization,
  answer: ({ accepted, rejected, dropped }) => jsonReply(200, { accepted, rejected, dropped }),
  answerProblem: (problem) => ({
    status: problem.status,
    headers: { 'Content-Type': 'application/problem+json' },
    body: JSON.stringify(problem),
  }),
}

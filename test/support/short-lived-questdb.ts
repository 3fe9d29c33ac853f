// Most tests need QuestDB for seconds or minutes. The second compiler of Java would take more CPU time than its code saves,
// and several threads that collect garbage would take it from the tests.
const javaOptions = ['-XX:TieredStopAtLevel=1', '-XX:-UseParallelGC', '-XX:+UseSerialGC']

/** Options of each QuestDB that a test or a fault starts. Attacks and benchmarks measure, so theirs is that of the product. */
export const shortLivedQuestdb = { cacheDir: '.cache', javaHome: process.env.JAVA_HOME, javaOptions }

/** The same for the QuestDB of a product that a test starts, as environment variables. */
export const shortLivedEnvironment = { QUESTDB_JAVA_OPTIONS: javaOptions.join(' ') }

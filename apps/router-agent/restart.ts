/** Exit code of the agent process when a job requests a restart of the router (EX_TEMPFAIL of sysexits.h). */
export const restartExitCode = 75

/** Exit code of the agent when its settings are invalid, so that it is not restarted. */
export const misconfiguredExitCode = 2

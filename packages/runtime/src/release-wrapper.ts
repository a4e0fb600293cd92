/**
 * The two shells around an app.
 *
 * The outer one leads the process group and is what Quayside knows the release by. It writes the exit code to a file,
 * because Quayside may not be there to see it, and then ends whatever the app left behind. Signals go to the whole group;
 * both shells outlive them, so that an app may take its time to end. The code comes through a pipe from the inner shell:
 * `bwrap` stands between the two, does end on a signal, and would report its own code.
 */
export const OUTER_SCRIPT = `exec 4>&1 5>&2 2>/dev/null
trap : HUP INT QUIT TERM USR1 USR2
file=$1; shift
code=$("$@" 3>&1 1>&4 2>&5 4>&- 5>&-)
status=$?
printf '%s' "\${code:-$status}" > "$file.tmp" && command -p mv -f "$file.tmp" "$file"
kill -KILL 0`;

/** Runs its first argument as the app's command in a shell of its own, so that \`exec\` and \`exit\` in it do no harm. */
export const INNER_SCRIPT = `trap : HUP INT QUIT TERM USR1 USR2
( trap 'exit $?' HUP INT QUIT TERM; eval "$1" ) 3>&-
printf '%s' "$?" >&3`;

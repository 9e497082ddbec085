/* Numbers the system calls on files below a folder, and disturbs those that a rule names.

   Preloaded (LD_PRELOAD) into the process that is watched; it sleeps until `faults_begin`. Forked
   children share the count. A line a call goes to the log: number, call, path, action that met it.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { KILL, FAIL, DELAY, SIGNAL, RULES = 8 };
struct rule { long at, until; int action, value, root; char call[32], path[64]; };

static struct rule rules[RULES];
static int count, log_file = -1;
static pid_t root;
static char top[PATH_MAX];
static long *number;

void faults_rule(long at, long until, int action, int value, int of_root, const char *call, const char *path) {
    struct rule *r = &rules[count++ % RULES];
    *r = (struct rule){at, until, action, value, of_root, "", ""};
    snprintf(r->call, sizeof r->call, "%s", call);
    snprintf(r->path, sizeof r->path, "%s", path);
}

void faults_begin(const char *folder, int log) {
    snprintf(top, sizeof top, "%s/", folder);
    number = mmap(0, sizeof *number, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    root = getpid();
    log_file = log;
}

/* True if the call fails, with errno set. `half` (a write) is carried out before a kill: a torn file. */
static int met(const char *call, const char *path, int fd, const void *half, size_t bytes) {
    char full[2 * PATH_MAX] = "", base[PATH_MAX], link[64], line[3 * PATH_MAX];
    if (log_file < 0) return 0;
    int before = errno;
    if (path && path[0] == '/') snprintf(full, sizeof full, "%s", path);
    else {
        if (fd == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
        else snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(link, base, sizeof base - 1);
        if (n < 0) { errno = before; return 0; }
        base[n] = 0;
        snprintf(full, sizeof full, path ? "%s/%s" : "%s", base, path);
    }
    size_t length = strlen(top);
    if (strncmp(full, top, length)) { errno = before; return 0; }
    long n = __atomic_add_fetch(number, 1, __ATOMIC_SEQ_CST);
    struct rule *hit = 0;
    for (int i = 0; i < count && i < RULES; i++)
        if (n >= rules[i].at && n <= rules[i].until && (!rules[i].call[0] || !strcmp(rules[i].call, call))
            && strstr(full, rules[i].path)) { hit = &rules[i]; break; }
    int value = hit ? hit->value : 0;
    if (hit && hit->action == FAIL && !strcmp(call, "read") && (value == ENOSPC || value == EDQUOT || value == EROFS)) {
        value = EIO; /* what can only not be written is read all the same */
        if (hit->until > hit->at) hit = 0;
    }
    const char action[2] = {hit ? '0' + hit->action : 0, 0};
    int size = snprintf(line, sizeof line, "%ld\t%s\t%s\t%s\n", n, call, full + length, action);
    syscall(SYS_write, log_file, line, size);
    if (hit && hit->action == FAIL) { errno = value; return 1; }
    if (hit && hit->action == DELAY) usleep(1000 * hit->value);
    if (hit && hit->action == KILL) {
        if (half && (!hit->root || root == getpid())) syscall(SYS_write, fd, half, bytes / 2);
        kill(hit->root ? root : getpid(), SIGKILL);
    }
    if (hit && hit->action == SIGNAL) kill(hit->root ? root : getpid(), hit->value);
    errno = before;
    return 0;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)
#define CALL(type, name, said, path, fd, parameters, arguments) \
    type name parameters { REAL(name); return met(said, path, fd, 0, 0) ? -1 : real arguments; }

static const char *opening(int flags) { return flags & (O_WRONLY | O_RDWR | O_CREAT) ? "open" : "read"; }

#define OPEN(name, path_fd, parameters, arguments) \
    int name parameters { \
        REAL(name); mode_t mode = 0; \
        if (flags & (O_CREAT | O_TMPFILE)) { va_list more; va_start(more, flags); mode = va_arg(more, mode_t); va_end(more); } \
        return met(opening(flags), path, path_fd, 0, 0) ? -1 : real arguments; }

OPEN(open, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
OPEN(open64, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))
OPEN(openat, at, (int at, const char *path, int flags, ...), (at, path, flags, mode))
OPEN(openat64, at, (int at, const char *path, int flags, ...), (at, path, flags, mode))

ssize_t write(int fd, const void *data, size_t bytes) {
    REAL(write);
    return met("write", 0, fd, data, bytes) ? -1 : real(fd, data, bytes);
}

CALL(ssize_t, sendfile64, "write", 0, out, (int out, int in, off64_t *at, size_t bytes), (out, in, at, bytes))
/* Renames and links are told of by their target. */
CALL(int, rename, "rename", to, AT_FDCWD, (const char *from, const char *to), (from, to))
CALL(int, renameat, "rename", to, b, (int a, const char *from, int b, const char *to), (a, from, b, to))
CALL(int, link, "link", to, AT_FDCWD, (const char *from, const char *to), (from, to))
CALL(int, linkat, "link", to, b, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
CALL(int, unlink, "unlink", path, AT_FDCWD, (const char *path), (path))
CALL(int, unlinkat, flags & AT_REMOVEDIR ? "rmdir" : "unlink", path, fd, (int fd, const char *path, int flags), (fd, path, flags))
CALL(int, rmdir, "rmdir", path, AT_FDCWD, (const char *path), (path))
CALL(int, mkdir, "mkdir", path, AT_FDCWD, (const char *path, mode_t mode), (path, mode))
CALL(int, mkdirat, "mkdir", path, fd, (int fd, const char *path, mode_t mode), (fd, path, mode))
CALL(int, flock, "flock", 0, fd, (int fd, int how), (fd, how))

static const char *syncing(int fd) {
    struct stat of;
    return !fstat(fd, &of) && S_ISDIR(of.st_mode) ? "fsync folder" : "fsync";
}

CALL(int, fsync, syncing(fd), 0, fd, (int fd), (fd))
CALL(int, fdatasync, syncing(fd), 0, fd, (int fd), (fd))

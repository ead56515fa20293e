/* Records what a process does to the files below one folder, in order, with the bytes.
 *
 * Preloaded into a process: RECORDER_FOLDER is the folder, RECORDER_LOG where the record goes
 * (outside of the folder). tests/support/power.rs reads the record and builds from it what a power
 * cut may leave behind. One lock makes the record one order: what is recorded before a sync was
 * written before it. sync_file_range is no sync: it neither writes metadata nor empties the
 * device's cache.
 *
 * A record: one byte for the kind, then fields; numbers are 64 bits of this machine, a text is its
 * length and its bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FDS 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static int record = -1;
static unsigned char watched[FDS];

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void start(void) {
    folder = getenv("RECORDER_FOLDER");
    const char *path = getenv("RECORDER_LOG");
    if (folder && path) {
        record = REAL(open64)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    }
}

static void put(const void *bytes, size_t length) {
    const char *from = bytes;
    while (length > 0) {
        ssize_t done = REAL(write)(record, from, length);
        if (done < 0 && errno != EINTR) {
            abort(); /* a record with a hole is worse than none */
        }
        if (done > 0) {
            from += done;
            length -= (size_t)done;
        }
    }
}

static void put_kind(char kind) { put(&kind, 1); }
static void put_number(uint64_t number) { put(&number, sizeof number); }

static void put_text(const char *text) {
    put_number(strlen(text));
    put(text, strlen(text));
}

static int is_below(const char *path) {
    size_t length = folder ? strlen(folder) : 0;
    return record >= 0 && path && strncmp(path, folder, length) == 0 &&
           (path[length] == '/' || path[length] == 0);
}

/* The path that `name` means behind the directory `at`. */
static const char *resolve(int at, const char *name, char *room) {
    if (name[0] == '/') {
        return name;
    }
    char link[64], base[PATH_MAX];
    snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
    ssize_t length = readlink(link, base, sizeof base - 1);
    if (length < 0) {
        return name;
    }
    base[length] = 0;
    if (snprintf(room, PATH_MAX, "%s/%s", base, name) >= PATH_MAX) {
        return name;
    }
    return room;
}

static int is_watched(int fd) { return fd >= 0 && fd < FDS && watched[fd]; }

static uint64_t inode_of(int fd) {
    struct stat64 found;
    return fstat64(fd, &found) == 0 ? found.st_ino : 0;
}

static int open_at(int at, const char *name, int flags, mode_t mode) {
    __typeof__(&openat64) really = REAL(openat64);
    char room[PATH_MAX];
    const char *path = resolve(at, name, room);
    if (!is_below(path)) {
        int fd = really(at, name, flags, mode);
        if (fd >= 0 && fd < FDS) {
            watched[fd] = 0;
        }
        return fd;
    }
    pthread_mutex_lock(&lock);
    struct stat64 before;
    int existed = stat64(path, &before) == 0;
    int fd = really(at, name, flags, mode);
    if (fd >= 0) {
        int saved = errno;
        if (fd < FDS) {
            watched[fd] = 1;
        }
        if (!existed) {
            put_kind('C');
            put_text(path);
            put_number(inode_of(fd));
        } else if ((flags & O_TRUNC) && before.st_size > 0) {
            put_kind('T');
            put_number(inode_of(fd));
            put_number(0);
        }
        errno = saved;
    }
    pthread_mutex_unlock(&lock);
    return fd;
}

#define MODE(flags)                                  \
    mode_t mode = 0;                                 \
    if ((flags) & (O_CREAT | O_TMPFILE)) {           \
        va_list more;                                \
        va_start(more, flags);                       \
        mode = va_arg(more, mode_t);                 \
        va_end(more);                                \
    }

int open(const char *path, int flags, ...) {
    MODE(flags)
    return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    MODE(flags)
    return open_at(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

int openat(int at, const char *path, int flags, ...) {
    MODE(flags)
    return open_at(at, path, flags, mode);
}

int openat64(int at, const char *path, int flags, ...) {
    MODE(flags)
    return open_at(at, path, flags | O_LARGEFILE, mode);
}

int close(int fd) {
    if (fd >= 0 && fd < FDS) {
        watched[fd] = 0;
    }
    return REAL(close)(fd);
}

static void put_write(int fd, const void *bytes, size_t length, uint64_t offset) {
    put_kind('W');
    put_number(inode_of(fd));
    put_number(offset);
    put_number(length);
    put(bytes, length);
}

ssize_t write(int fd, const void *bytes, size_t length) {
    if (!is_watched(fd)) {
        return REAL(write)(fd, bytes, length);
    }
    pthread_mutex_lock(&lock);
    off64_t offset = lseek64(fd, 0, SEEK_CUR);
    ssize_t done = REAL(write)(fd, bytes, length);
    if (done > 0) {
        put_write(fd, bytes, (size_t)done, (uint64_t)offset);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
    if (!is_watched(fd)) {
        return REAL(pwrite64)(fd, bytes, length, offset);
    }
    pthread_mutex_lock(&lock);
    ssize_t done = REAL(pwrite64)(fd, bytes, length, offset);
    if (done > 0) {
        put_write(fd, bytes, (size_t)done, (uint64_t)offset);
    }
    pthread_mutex_unlock(&lock);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
    return pwrite64(fd, bytes, length, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (!is_watched(fd)) {
        return REAL(writev)(fd, parts, count);
    }
    /* A short write is allowed: the first part alone. */
    for (int part = 0; part < count; part++) {
        if (parts[part].iov_len > 0) {
            return write(fd, parts[part].iov_base, parts[part].iov_len);
        }
    }
    return 0;
}

/* Copies within the kernel are refused, so that they become reads and writes. */
ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t length,
                        unsigned int flags) {
    if (is_watched(out)) {
        errno = EXDEV;
        return -1;
    }
    return REAL(copy_file_range)(in, in_at, out, out_at, length, flags);
}

ssize_t sendfile64(int out, int in, off64_t *offset, size_t length) {
    if (is_watched(out)) {
        errno = EINVAL;
        return -1;
    }
    ssize_t (*really)(int, int, off64_t *, size_t) = dlsym(RTLD_NEXT, "sendfile64");
    return really(out, in, offset, length);
}

int ftruncate64(int fd, off64_t length) {
    if (!is_watched(fd)) {
        return REAL(ftruncate64)(fd, length);
    }
    pthread_mutex_lock(&lock);
    int result = REAL(ftruncate64)(fd, length);
    if (result == 0) {
        put_kind('T');
        put_number(inode_of(fd));
        put_number((uint64_t)length);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int ftruncate(int fd, off_t length) { return ftruncate64(fd, length); }

static int sync_with(int (*really)(int), int fd) {
    if (!is_watched(fd)) {
        return really(fd);
    }
    pthread_mutex_lock(&lock);
    int result = really(fd);
    if (result == 0) {
        put_kind('S');
        put_number(inode_of(fd));
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int fsync(int fd) { return sync_with(REAL(fsync), fd); }
int fdatasync(int fd) { return sync_with(REAL(fdatasync), fd); }

int rename(const char *from, const char *to) {
    if (!is_below(from) || !is_below(to)) {
        return REAL(rename)(from, to);
    }
    pthread_mutex_lock(&lock);
    int result = REAL(rename)(from, to);
    if (result == 0) {
        put_kind('R');
        put_text(from);
        put_text(to);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int unlinkat(int at, const char *name, int flags) {
    char room[PATH_MAX];
    const char *path = resolve(at, name, room);
    if (!is_below(path)) {
        return REAL(unlinkat)(at, name, flags);
    }
    pthread_mutex_lock(&lock);
    int result = REAL(unlinkat)(at, name, flags);
    if (result == 0) {
        put_kind('U');
        put_text(path);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdir(const char *path, mode_t mode) {
    if (!is_below(path)) {
        return REAL(mkdir)(path, mode);
    }
    pthread_mutex_lock(&lock);
    int result = REAL(mkdir)(path, mode);
    struct stat64 made;
    if (result == 0 && stat64(path, &made) == 0) {
        put_kind('M');
        put_text(path);
        put_number(made.st_ino);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

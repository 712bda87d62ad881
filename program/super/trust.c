// SPDX-License-Identifier: MIT
//
// Everybody can take a name in the abstract namespace, and say from there that all is done. So a command believes its own
// user and root. Root believes other users, too, whose server it is by what they could not have made themselves: their
// own configuration, or one of root's together with a pid_file or the folder that systemd makes for the unit. Even then root
// hands them nothing but a word.

#include "super/trust.h"

#ifdef __linux__

#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static const char trust_folder[] = "/run/skua"; // RuntimeDirectory=skua of the unit

static bool trust_peer(int fd, struct ucred *who)
{
    socklen_t len = sizeof *who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, who, &len) == 0;
}

bool super_trust_is_own(int fd)
{
    struct ucred who;
    return trust_peer(fd, &who) && (who.uid == 0 || who.uid == geteuid());
}

bool super_trust_look(super_trust *trust, const char *file)
{
    struct stat info;
    if (stat(file, &info) != 0) return false;
    *trust = (super_trust){ .owner = info.st_uid, .number = pid_file_of(file) };
    return true;
}

// The number alone could be that of a later process.
static bool trust_has_number(const pid_file_found *number, const struct ucred *who)
{
    return number->pid == who->pid && number->owner == who->uid && number->is_owners;
}

static bool trust_has_folder(uid_t user)
{
    struct stat info;
    return lstat(trust_folder, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == user &&
           (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// A configuration leads by its number to servers of its owner alone, unless it is of whoever gives the command, or
// root's: else its owner could have root end a server of somebody else's.
bool super_trust_is_server(const super_trust *trust, int fd, super_way way, uid_t *who)
{
    struct ucred peer;
    bool is_roots = trust->owner == 0, is_own = is_roots || trust->owner == geteuid();
    if (!trust_peer(fd, &peer)) return false;
    *who = peer.uid;
    if (way == SUPER_BY_NUMBER && !is_own && trust->owner != peer.uid) return false;
    if (peer.uid == 0 || peer.uid == geteuid()) return true;
    if (geteuid() != 0) return false;
    return trust->owner == peer.uid ||
           (is_roots && (trust_has_number(&trust->number, &peer) || trust_has_folder(peer.uid)));
}

#endif

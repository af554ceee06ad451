//! Who is told of, who is turned away, and who is given up.

use super::*;

#[test]
fn only_what_runs_and_has_not_told_its_state_is_told_of() {
    let running = Running::default();
    let [first, second] = [Uuid::from_u128(1), Uuid::from_u128(2)].map(|id| running.add(id));
    assert_eq!(running.beating(true), []);
    running.started(first.0, 7);
    running.started(second.0, 8);
    running.settled(second.0);
    assert_eq!(running.beating(true), [(first.0, Process { id: Uuid::from_u128(1), pid: 7 })]);
    running.give_up(Duration::ZERO);
    assert_eq!(*first.1.borrow(), Some(EndOrder::HeartbeatsFailed));
    assert_eq!(*second.1.borrow(), None);
    running.order_all(EndOrder::Shutdown);
    assert_eq!(*first.1.borrow(), Some(EndOrder::HeartbeatsFailed), "the first order counts");
    assert_eq!(*second.1.borrow(), Some(EndOrder::Shutdown));
    running.remove(first.0);
    assert_eq!(running.slots(), 1);
}

#[test]
fn who_has_told_its_state_is_not_turned_away() {
    let running = Running::default();
    let id = Uuid::from_u128(1);
    let ((told, told_orders), (silent, silent_orders)) = (running.add(id), running.add(id));
    for ticket in [told, silent] {
        running.started(ticket, 7);
    }
    running.tells(told, true);
    assert_eq!(running.beating(false), [(silent, Process { id, pid: 7 })]);
    assert_eq!(running.beating(true).len(), 2, "it lives until its row says otherwise");
    for ticket in [told, silent] {
        running.turn_away_stay(ticket);
    }
    assert_eq!((*told_orders.borrow(), *silent_orders.borrow()), (None, Some(EndOrder::Unwanted)));
    running.settled(told);
    running.turn_away(id);
    assert_eq!(*told_orders.borrow(), None, "what follows its end is not cut short");
    running.order_all(EndOrder::Shutdown);
    assert_eq!(*told_orders.borrow(), Some(EndOrder::Shutdown), "but by other orders");
    running.remove(told);
    assert_eq!(running.slots(), 1, "a stay ends by itself");
}

#[test]
fn who_is_told_of_lives() {
    let running = Running::default();
    let id = Uuid::from_u128(1);
    let (ticket, _orders) = running.add(id);
    let lives = |limit| running.lives(id, limit);
    assert!(!lives(Duration::MAX), "its row does not say that it runs");
    running.started(ticket, 7);
    assert_eq!([lives(Duration::MAX), lives(Duration::ZERO)], [true, false]);
    running.tells(ticket, true);
    assert!(lives(Duration::MAX), "until what became of it is in its row");
    running.settled(ticket);
    assert!(!lives(Duration::MAX));
}

#[test]
fn who_is_turned_away_while_it_tells_its_state_goes_if_it_could_not() {
    let running = Running::default();
    let id = Uuid::from_u128(1);
    let (ticket, orders) = running.add(id);
    running.started(ticket, 7);
    running.tells(ticket, true);
    running.turn_away(id);
    assert_eq!(*orders.borrow(), None);
    running.tells(ticket, false);
    assert_eq!(*orders.borrow(), Some(EndOrder::Unwanted));
}

#[test]
fn who_tells_its_state_is_not_given_up_however_long_that_takes() {
    let running = Running::default();
    let (ticket, orders) = running.add(Uuid::from_u128(1));
    running.started(ticket, 7);
    running.tells(ticket, true);
    running.give_up(Duration::ZERO);
    assert_eq!(*orders.borrow(), None);
}

#[test]
fn who_gives_its_slot_back_lives_on() {
    let running = Running::default();
    let id = Uuid::from_u128(1);
    let (ticket, orders) = running.add(id);
    running.started(ticket, 7);
    running.tells(ticket, true);
    assert_eq!([running.give_slot_back(ticket), running.give_slot_back(ticket)], [true, false]);
    assert_eq!((running.slots(), running.beating(true)), (0, vec![(ticket, Process { id, pid: 7 })]));
    running.tells(ticket, false);
    running.turn_away(id);
    assert_eq!(*orders.borrow(), Some(EndOrder::Unwanted));
    running.remove(ticket);
    assert!(!running.give_slot_back(ticket));
}

#[test]
fn who_cannot_be_killed_keeps_its_slot_until_it_is_gone() {
    let running = Running::default();
    let (ticket, _orders) = running.add(Uuid::from_u128(1));
    running.started(ticket, 7);
    let (telling, gone) = watch::channel(false);
    running.cannot_be_killed(ticket, Remains::new(7, gone));
    assert!(!running.give_slot_back(ticket));
    assert_eq!(running.slots(), 1);
    telling.send_replace(true);
    assert!(running.give_slot_back(ticket));
    assert_eq!(running.slots(), 0);
}

#[test]
fn who_has_not_begun_is_turned_away() {
    let running = Running::default();
    let (_, orders) = running.add(Uuid::from_u128(1));
    running.turn_away(Uuid::from_u128(1));
    assert_eq!(*orders.borrow(), Some(EndOrder::Unwanted));
}

#[test]
fn what_is_not_taken_is_told_again_unless_it_is_told_to_end() {
    let running = Running::default();
    let (ticket, _orders) = running.add(Uuid::from_u128(1));
    running.started(ticket, 7);
    let beating = running.beating(true);
    assert!(
        !running.heard(&beating, &[])
            && running.heard(&beating, &[Process { id: Uuid::from_u128(1), pid: 7 }])
    );
    running.turn_away_stay(ticket);
    assert!(!running.heard(&beating, &[Process { id: Uuid::from_u128(1), pid: 7 }]));
}
